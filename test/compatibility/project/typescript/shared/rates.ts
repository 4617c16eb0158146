let asked = 0;

export const rate = (unit: string): number => (unit === "km" ? 1000 : 1);
export function asks(): number {
  asked += 1;
  return asked;
}
