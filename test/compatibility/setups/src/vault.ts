export class Vault {
  #secret = 0;
  static opened = 0;
  constructor(secret = 0) {
    this.#secret = secret;
  }
  put(n: number): this {
    this.#secret += n;
    return this;
  }
  get secret(): number {
    return this.#secret;
  }
}
export const stamp = Symbol("stamp");
