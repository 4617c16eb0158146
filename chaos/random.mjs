/** Numbers that look random and are a function of a seed and a name: each part of a run has its own stream. */
export class Random {
  #a;
  #b;
  #c;
  #counter = 1;

  /** `seed` and `name` may be any string or number. */
  constructor(seed, name = "") {
    const text = `${seed}/${name}`;
    this.#a = hash(text, 0x9e3779b9);
    this.#b = hash(text, 0x243f6a88);
    this.#c = hash(text, 0xb7e15162);
    for (let i = 0; i < 12; i++) this.#next();
  }

  /** From 0 to 1, without 1. */
  fraction() {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  integer(low, high) {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  /** One of a list. */
  pick(list) {
    if (list.length === 0) throw new RangeError("there is nothing to pick from");
    return list[this.integer(0, list.length - 1)];
  }

  /** One of a list of things with a `weight`, a heavier one is more likely. */
  pickWeighted(list) {
    let at = this.fraction() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const each of list) {
      at -= each.weight;
      if (at < 0) return each;
    }
    return list.at(-1);
  }

  /** The list in another order. */
  shuffle(list) {
    const shuffled = [...list];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
    }
    return shuffled;
  }

  /** The generator called sfc32: small, fast, and good enough for everything but secrets. */
  #next() {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

function hash(text, start) {
  let state = start;
  for (let i = 0; i < text.length; i++) {
    state = Math.imul(state ^ text.charCodeAt(i), 0x85ebca6b);
    state ^= state >>> 13;
  }
  return Math.imul(state, 0xc2b2ae35) ^ (state >>> 16);
}
