/** Something that has work and can take more. */
export interface Vessel {
  /** What it has. */
  readonly load: number;
  /** What it can take. */
  readonly room: number;
}

/**
 * Spreads `count` tasks so that the fullest vessel is as little full as it can be. Returns how many each one gets, in
 * the order given; earlier ones get the odd task. Gives out fewer than `count` when there is no room for more.
 */
export function level(vessels: readonly Vessel[], count: number): number[] {
  const shares = new Array<number>(vessels.length).fill(0);
  let rest = count;
  while (rest > 0) {
    const open: number[] = [];
    let lowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < vessels.length; i++) {
      const vessel = vessels[i] as Vessel;
      const share = shares[i] as number;
      if (share >= vessel.room) continue;
      const height = vessel.load + share;
      if (height < lowest) {
        lowest = height;
        open.length = 0;
      }
      if (height === lowest) open.push(i);
    }
    if (open.length === 0) break;
    const lift = Math.max(1, Math.min(step(vessels, shares, open, lowest), Math.floor(rest / open.length)));
    for (const i of open) {
      if (rest === 0) break;
      const given = Math.min(lift, rest);
      shares[i] = (shares[i] as number) + given;
      rest -= given;
    }
  }
  return shares;
}

/** How far the lowest vessels can rise together: to the next one's height, or until one of them is full. */
function step(vessels: readonly Vessel[], shares: readonly number[], open: readonly number[], lowest: number): number {
  let rise = Number.POSITIVE_INFINITY;
  for (let i = 0; i < vessels.length; i++) {
    const vessel = vessels[i] as Vessel;
    const share = shares[i] as number;
    if (share >= vessel.room) continue;
    const height = vessel.load + share;
    if (height > lowest) rise = Math.min(rise, height - lowest);
  }
  for (const i of open) rise = Math.min(rise, (vessels[i] as Vessel).room - (shares[i] as number));
  return rise;
}
