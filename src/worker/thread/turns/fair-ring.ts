/** Somebody who takes turns. */
export interface TurnTaker {
  /** Whose turns these are: those with the same share them. */
  readonly party: object;
}

/**
 * A ring in which parties take turns, and those who belong to one take turns with its turns: many of one party delay another
 * party no more than one does.
 */
export class FairRing<O extends TurnTaker> {
  /** Those of each party that are in the ring, in the order of their turns. */
  readonly #members = new WeakMap<object, O[]>();
  /** The parties with members in the ring, in the order of their turns. */
  readonly #turns: O[][] = [];
  #size = 0;

  /** How many are in the ring. */
  get size(): number {
    return this.#size;
  }

  /** How many parties they belong to. */
  get parties(): number {
    return this.#turns.length;
  }

  /** Whose turn it is. */
  get current(): O | undefined {
    return this.#turns[0]?.[0];
  }

  /** Adds one that is not in the ring. */
  add(taker: O): void {
    let members = this.#members.get(taker.party);
    if (members === undefined) {
      members = [];
      this.#members.set(taker.party, members);
    }
    if (members.push(taker) === 1) this.#turns.push(members);
    this.#size++;
  }

  /** The current one has had its turn. `leaves`: it takes no more. */
  pass(leaves = false): void {
    const members = this.#turns.shift();
    const taker = members?.shift();
    if (members === undefined || taker === undefined) return;
    if (leaves) this.#size--;
    else members.push(taker);
    if (members.length > 0) this.#turns.push(members);
  }

  /** Takes one out, if it is in the ring. */
  remove(taker: O): void {
    const members = this.#members.get(taker.party);
    const index = members?.indexOf(taker) ?? -1;
    if (members === undefined || index < 0) return;
    members.splice(index, 1);
    this.#size--;
    if (members.length === 0) this.#turns.splice(this.#turns.indexOf(members), 1);
  }
}
