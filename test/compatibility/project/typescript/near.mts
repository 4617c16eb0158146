let loads = 0;

export function load(): number {
  loads += 1;
  return loads;
}
