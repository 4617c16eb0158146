import { existsSync, readdirSync, readFileSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../checks/index.ts";
import { areProcessesAlive, identifyProcess, uniqueName } from "../../host/index.ts";
import { type LocalEntry, parseEntry } from "./local-entry.ts";

const UNFINISHED = /^\.(\d+)\.[0-9a-z]+$/;

/** The name of an entry that is still being written; it contains the process id of its writer. */
export function unfinishedName(): string {
  return `.${process.pid}.${uniqueName()}`;
}

/** The changes since the last look at a folder. */
export interface EntryChanges {
  readonly added: readonly LocalEntry[];
  readonly removed: readonly LocalEntry[];
}

/**
 * The entries in a folder, as they were at the last look. Each file is read once: its content never changes.
 *
 * The files are few and tiny, on a local disk or in memory. Reading one synchronously costs less than using the thread
 * pool.
 */
export class EntryFolder {
  /** By file name; `undefined` for a file that is not an entry. */
  #entries = new Map<string, LocalEntry | undefined>();

  /**
   * Looks for new and missing files; there are none when the folder does not exist. Removes files of dead processes:
   * among the new files, or with `all` among all files.
   * @throws the error of the file system, unless a file or the folder is just gone.
   */
  look(directory: string, all: boolean): EntryChanges {
    const files = listFiles(directory);
    const found = new Map<string, LocalEntry | undefined>();
    const fresh: string[] = [];
    for (const file of files) {
      if (file.startsWith(".")) {
        if (all) removeUnfinished(directory, file);
      } else if (file.endsWith(".json")) {
        if (!this.#entries.has(file)) fresh.push(file);
        else found.set(file, this.#entries.get(file));
      }
    }
    readEntries(directory, fresh, found);
    removeDead(directory, found, all ? found.keys() : fresh);
    const before = this.#entries;
    this.#entries = found;
    return {
      added: fresh.map((file) => found.get(file)).filter((entry) => entry !== undefined),
      removed: [...before].filter(([file]) => !found.has(file)).flatMap(([, entry]) => entry ?? []),
    };
  }

  /**
   * Looks only at these files, which may have come or gone. The cost does not depend on the number of other files.
   * @throws the same as `look`.
   */
  lookAt(directory: string, files: Iterable<string>): EntryChanges {
    const reported = Array.from(files).filter((file) => file.endsWith(".json"));
    const fresh = reported.filter((file) => !this.#entries.has(file));
    const gone = reported.filter((file) => this.#entries.has(file) && !existsSync(join(directory, file)));
    // Everything that can throw comes before the changes, so that the next look sees the same state.
    const found = new Map<string, LocalEntry | undefined>();
    readEntries(directory, fresh, found);
    removeDead(directory, found, Array.from(found.keys()));
    const removed = gone.flatMap((file) => this.#entries.get(file) ?? []);
    for (const file of gone) this.#entries.delete(file);
    for (const [file, entry] of found) this.#entries.set(file, entry);
    return { added: Array.from(found.values()).filter((entry) => entry !== undefined), removed };
  }
}

/** The names of the files in `directory`; none when it does not exist. */
export function listFiles(directory: string): string[] {
  return unlessMissing(() => readdirSync(directory)) ?? [];
}

/** Removes a file, unless it is already gone. */
export function removeFile(path: string): void {
  unlessMissing(() => unlinkSync(path));
}

/** Removes a directory if it exists and nothing is in it. */
export function removeEmptyDirectory(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

/** Reads new files. */
function readEntries(directory: string, files: readonly string[], into: Map<string, LocalEntry | undefined>): void {
  for (const file of files) {
    const text = unlessMissing(() => readFileSync(join(directory, file), "utf8"));
    if (text !== undefined) into.set(file, parseEntry(text));
  }
}

/** Removes the files among these whose processes are dead. */
function removeDead(directory: string, entries: Map<string, LocalEntry | undefined>, files: Iterable<string>): void {
  for (const file of deadEntries(entries, files)) {
    entries.delete(file);
    removeFile(join(directory, file));
  }
}

/** The files among these whose publisher or worker does not run any more. */
function deadEntries(entries: ReadonlyMap<string, LocalEntry | undefined>, files: Iterable<string>): string[] {
  const checked = Array.from(files, (file) => ({ file, processes: entries.get(file)?.processes ?? [] }));
  const alive = areProcessesAlive(checked.flatMap(({ processes }) => processes)).values();
  return checked
    .filter(({ processes }) => {
      // No short circuit: the iterator has one answer for each process.
      const dead = processes.filter(() => alive.next().value !== true);
      return dead.length > 0;
    })
    .map(({ file }) => file);
}

function removeUnfinished(directory: string, file: string): void {
  const writer = UNFINISHED.exec(file)?.[1];
  if (writer !== undefined && identifyProcess(Number(writer)) === undefined) removeFile(join(directory, file));
}

function unlessMissing<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
