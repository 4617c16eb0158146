/** A task thread that has tasks and can take more. */
export interface Taker {
  /** Tasks that it has. */
  readonly load: number;
  /** Tasks that it can take. */
  readonly room: number;
}

/**
 * Spreads `count` tasks so that the one with the most tasks has as few as possible. Returns how many each one gets, in
 * the order given; earlier ones get the odd task. Gives out fewer than `count` when there is no room for more.
 */
export function shareEvenly(takers: readonly Taker[], count: number): number[] {
  const shares = new Array<number>(takers.length).fill(0);
  let rest = count;
  while (rest > 0) {
    const open: number[] = [];
    let lowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < takers.length; i++) {
      const taker = takers[i] as Taker;
      const share = shares[i] as number;
      if (share >= taker.room) continue;
      const height = taker.load + share;
      if (height < lowest) {
        lowest = height;
        open.length = 0;
      }
      if (height === lowest) open.push(i);
    }
    if (open.length === 0) break;
    const lift = Math.max(1, Math.min(step(takers, shares, open, lowest), Math.floor(rest / open.length)));
    for (const i of open) {
      if (rest === 0) break;
      const given = Math.min(lift, rest);
      shares[i] = (shares[i] as number) + given;
      rest -= given;
    }
  }
  return shares;
}

/** How many more tasks those with the fewest can get together: until they have as many as the next, or one is full. */
function step(takers: readonly Taker[], shares: readonly number[], open: readonly number[], lowest: number): number {
  let rise = Number.POSITIVE_INFINITY;
  for (let i = 0; i < takers.length; i++) {
    const taker = takers[i] as Taker;
    const share = shares[i] as number;
    if (share >= taker.room) continue;
    const height = taker.load + share;
    if (height > lowest) rise = Math.min(rise, height - lowest);
  }
  for (const i of open) rise = Math.min(rise, (takers[i] as Taker).room - (shares[i] as number));
  return rise;
}
