import type { Readable, Writable } from "node:stream";

/**
 * Passes the output of a worker on, line by line, each with the worker's name in front, so that lines of different
 * workers do not run into each other. Keeps the last part for error messages.
 */
export class OutputRelay {
  readonly #prefix: string;
  readonly #target: Writable;
  readonly #tail: string[] = [];
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

  #take(chunk: string): void {
    const lines = (this.#partial + chunk).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) {
      this.#tail.push(line);
      if (this.#tail.length > TAIL_LINES) this.#tail.shift();
      this.#target.write(`${this.#prefix}${line}\n`);
    }
  }
}

const TAIL_LINES = 40;
