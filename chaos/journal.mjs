import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const FLUSH_AT = 200;

/** Writes events to a file as they happen: a run of many minutes must not fill the memory that it measures. */
export class Journal {
  #descriptor;
  #lines = [];

  constructor(path) {
    this.#descriptor = openSync(path, "a");
  }

  /** `what` is `"call"`, `"pending"` or `"incident"`. */
  add(what, entry) {
    this.#lines.push(JSON.stringify({ what, ...entry }));
    if (this.#lines.length >= FLUSH_AT) this.flush();
  }

  flush() {
    if (this.#lines.length > 0) writeSync(this.#descriptor, `${this.#lines.join("\n")}\n`);
    this.#lines = [];
  }

  close() {
    this.flush();
    closeSync(this.#descriptor);
  }
}

/** Reads a journal back. */
export function readJournal(path) {
  const found = { call: [], pending: [], incident: [] };
  for (const line of readLines(path)) {
    const { what, ...entry } = JSON.parse(line);
    found[what].push(entry);
  }
  return { calls: found.call, pending: found.pending, incidents: found.incident };
}

/** Every execution that tasks noted. There is a file for each process, named by its id. */
export function readNotes(folder) {
  return readdirSync(folder).flatMap((pid) =>
    readLines(join(folder, pid)).map((token) => ({ token, pid: Number(pid) })),
  );
}

function readLines(path) {
  // A driver that ended early has written nothing.
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}
