/** Exports a variable that it assigns to. */
export let count = 0;

export function up() {
  count += 1;
  return count;
}
