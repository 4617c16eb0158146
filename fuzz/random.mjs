/** Random numbers from a seed: a run can be repeated. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0 || 1;
  }

  /** From 0 to `below`, without `below`. */
  integer(below) {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % below;
  }

  chance(oneIn) {
    return this.integer(oneIn) === 0;
  }

  pick(list) {
    return list[this.integer(list.length)];
  }

  bytes(length) {
    const bytes = Buffer.alloc(length);
    for (let i = 0; i < length; i++) bytes[i] = this.integer(256);
    return bytes;
  }
}
