import type { ProcessCredentials, ProcessReport } from "./process-config.ts";

/** What a worker process is told on its control pipe after its configuration, as lines of JSON. */
export type ProcessCommand =
  /** End; running tasks have this many milliseconds, negative for all they need. */
  | { readonly stop: number }
  /** Show that the process is not frozen. */
  | { readonly ping: number }
  /** Use these for new connections. */
  | { readonly credentials: ProcessCredentials };

/** What a worker process says on its control pipe, as lines of JSON. The first is its report. */
export type ProcessWord = ProcessReport | { readonly pong: number };

/** Takes a stream of text apart into the JSON of its lines. */
export class ControlLines {
  readonly #take: (line: unknown) => void;
  #partial = "";

  constructor(take: (line: unknown) => void) {
    this.#take = take;
  }

  add(chunk: string): void {
    const lines = (this.#partial + chunk).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) this.#take(JSON.parse(line));
  }
}
