/** A task thread that has tasks and can take more. */
export interface Taker {
  /** Tasks that it has now. */
  readonly load: number;
  /** Tasks that it can take. */
  readonly room: number;
}

/**
 * Spreads `count` tasks so that the one with the most tasks has as few as possible. Returns how many each one gets, in
 * the order given; earlier ones get the odd task. Gives out fewer than `count` when there is no room for more.
 */
export function spreadEvenly(takers: readonly Taker[], count: number): number[] {
  const portions = new Array<number>(takers.length).fill(0);
  let rest = count;
  while (rest > 0) {
    const open: number[] = [];
    let lowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < takers.length; i++) {
      const taker = takers[i] as Taker;
      const portion = portions[i] as number;
      if (portion >= taker.room) continue;
      const height = taker.load + portion;
      if (height < lowest) {
        lowest = height;
        open.length = 0;
      }
      if (height === lowest) open.push(i);
    }
    if (open.length === 0) break;
    const lift = Math.max(1, Math.min(step(takers, portions, open, lowest), Math.floor(rest / open.length)));
    for (const i of open) {
      if (rest === 0) break;
      const given = Math.min(lift, rest);
      portions[i] = (portions[i] as number) + given;
      rest -= given;
    }
  }
  return portions;
}

/**
 * How many more tasks the takers with the fewest can get together, until they have as many as the next one or one is
 * full.
 */
function step(takers: readonly Taker[], portions: readonly number[], open: readonly number[], lowest: number): number {
  let rise = Number.POSITIVE_INFINITY;
  for (let i = 0; i < takers.length; i++) {
    const taker = takers[i] as Taker;
    const portion = portions[i] as number;
    if (portion >= taker.room) continue;
    const height = taker.load + portion;
    if (height > lowest) rise = Math.min(rise, height - lowest);
  }
  for (const i of open) rise = Math.min(rise, (takers[i] as Taker).room - (portions[i] as number));
  return rise;
}
