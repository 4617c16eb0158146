import { readdirSync, readFileSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { areProcessesAlive, errorCode, identifyProcess, uniqueName } from "../host/index.ts";
import { type LocalEntry, parseEntry } from "./local-entry.ts";

const UNFINISHED = /^\.(\d+)\.[0-9a-z]+$/;

/** A name for an entry that is still being written; it tells by whom. */
export function unfinishedName(): string {
  return `.${process.pid}.${uniqueName()}`;
}

/**
 * The entries in `directory` whose processes live; none when it does not exist. Removes those of dead processes,
 * finished or not.
 * @throws what the file system throws, unless it is just that a file or the directory is gone.
 */
export function readLiveEntries(directory: string): LocalEntry[] {
  const found: { readonly path: string; readonly entry: LocalEntry }[] = [];
  for (const file of listFiles(directory)) {
    const path = join(directory, file);
    const writer = UNFINISHED.exec(file)?.[1];
    if (writer !== undefined) {
      if (identifyProcess(Number(writer)) === undefined) removeFile(path);
    } else if (file.endsWith(".json")) {
      const entry = parseEntry(readFile(path) ?? "");
      if (entry !== undefined) found.push({ path, entry });
    }
  }
  const alive = areProcessesAlive(found.flatMap(({ entry }) => entry.processes)).values();
  const live: LocalEntry[] = [];
  for (const { path, entry } of found) {
    // No short circuit: each process takes its answer off the iterator.
    const dead = entry.processes.filter(() => alive.next().value !== true);
    if (dead.length === 0) live.push(entry);
    else removeFile(path);
  }
  return live;
}

/** The names of the files in `directory`, sorted; none when it does not exist. */
export function listFiles(directory: string): string[] {
  return unlessMissing(() => readdirSync(directory).sort()) ?? [];
}

/** Removes a file unless it is gone already. */
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

function readFile(path: string): string | undefined {
  return unlessMissing(() => readFileSync(path, "utf8"));
}

function unlessMissing<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
