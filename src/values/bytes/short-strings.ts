const PLACES = 2048;

/** Remembers short ASCII strings, so that one which comes again is found by its bytes instead of being made anew. */
export class ShortStrings {
  readonly #places: string[] = Array.from({ length: PLACES }, () => "");
  readonly #internalize: boolean;

  /** @param internalize - make the engine's own copy at once, which is faster when the strings become property keys */
  constructor(internalize: boolean) {
    this.#internalize = internalize;
  }

  /** The string of `size` ASCII characters at `from`. */
  get(bytes: Buffer, from: number, size: number): string {
    let hash = size;
    const end = from + size;
    for (let at = from; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const place = (hash ^ (hash >>> 11)) & (PLACES - 1);
    const found = this.#places[place] ?? "";
    if (found.length === size) {
      let index = 0;
      while (index < size && found.charCodeAt(index) === bytes[from + index]) index++;
      if (index === size) return found;
    }
    let made = bytes.toString("latin1", from, end);
    if (this.#internalize) made = Object.keys({ [made]: 0 })[0] ?? made;
    this.#places[place] = made;
    return made;
  }
}
