import type { Readable, Writable } from "node:stream";

/** Longest line that is passed on whole, in characters. A longer line is passed on as several. */
const LONGEST_LINE = 64 * 1024;
/** Characters that are kept for error messages. */
const TAIL_LINES = 40;
const TAIL_CHARACTERS = 16 * 1024;

/**
 * Passes on the output of a worker line by line, each line with the worker's name in front, so that lines of different
 * workers do not mix. Keeps the last part for error messages.
 */
export class OutputRelay {
  readonly #prefix: string;
  readonly #target: Writable;
  readonly #tail: string[] = [];
  #tailSize = 0;
  /** A line whose end has not come yet. */
  #partial = "";
  /** Resolves when the source has ended and everything was passed on. */
  readonly ended: Promise<void>;

  constructor(source: Readable, target: Writable, name: string) {
    this.#prefix = `[${name}] `;
    this.#target = target;
    source.setEncoding("utf8");
    source.on("data", (chunk: string) => this.#take(chunk));
    this.ended = new Promise((resolve) => {
      source.on("close", () => {
        if (this.#partial !== "") this.#take("\n");
        resolve();
      });
    });
  }

  /** The last lines. */
  get tail(): string {
    return this.#tail.join("\n");
  }

  /** Looks for line ends only in new text: a line may come in any number of pieces. */
  #take(chunk: string): void {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      this.#add(chunk.slice(start, end));
      this.#pass(this.#partial);
      this.#partial = "";
      start = end + 1;
    }
    this.#add(chunk.slice(start));
  }

  /** Adds to the line, and passes on the beginning of a line that is too long. */
  #add(text: string): void {
    let line = this.#partial + text;
    while (line.length > LONGEST_LINE) {
      const cut = endsWithin(line, LONGEST_LINE) ? LONGEST_LINE - 1 : LONGEST_LINE;
      this.#pass(line.slice(0, cut));
      line = line.slice(cut);
    }
    this.#partial = line;
  }

  #pass(line: string): void {
    this.#keep(line);
    this.#target.write(`${this.#prefix}${line}\n`);
  }

  #keep(line: string): void {
    const kept = line.slice(-TAIL_CHARACTERS);
    this.#tail.push(kept);
    this.#tailSize += kept.length;
    while (this.#tail.length > TAIL_LINES || this.#tailSize > TAIL_CHARACTERS) {
      this.#tailSize -= this.#tail.shift()?.length ?? 0;
    }
  }
}

/** Whether a cut at this place would split a character of two code units. */
function endsWithin(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff;
}
