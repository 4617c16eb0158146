const secret = Symbol("secret");

/** No file exports it, only an instance of it. */
class Base {
  static mark = "base";
  static #made = 0;

  constructor(name) {
    this.name = name;
    this[secret] = `secret of ${name}`;
    Base.#made += 1;
  }

  title() {
    return `${this.name}: ${this[secret] ?? "none"}`;
  }

  get made() {
    return Base.#made;
  }
}

module.exports = new Base("first");
