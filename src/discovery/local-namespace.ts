import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WoolError } from "../errors.ts";
import {
  checkPrivateDirectory,
  currentProcess,
  ensurePrivateDirectory,
  errorCode,
  makePrivateDirectory,
  runtimeDirectory,
  uniqueName,
} from "../host/index.ts";
import { entryPrefix, formatEntry, type LocalEntry, namespaceFolder, processesOf } from "./local-entry.ts";
import { listFiles, readLiveEntries, removeEmptyDirectory, removeFile, unfinishedName } from "./local-entry-files.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** Writing is tried again this often when another process removes the empty directory at the same moment. */
const WRITE_ATTEMPTS = 20;

/**
 * The directory of one namespace: a file for each worker and publisher, `<worker>.<publisher>.json`.
 *
 * No two publishers write the same file, so whoever removes the file of a dead one cannot hit that of a live one.
 * The files are few and tiny and lie on a local disk or in memory: reading them at once costs less than going
 * through the thread pool for each.
 */
export class LocalNamespace {
  readonly name: string;
  readonly #root: string | undefined;
  readonly #publisher = uniqueName();
  readonly #written = new Map<string, string>();
  #revision = 0;

  /** `root` is the directory around the namespace's own, which must exist; default: the runtime directory. */
  constructor(name: string, root: string | undefined) {
    this.name = name;
    this.#root = root;
  }

  /**
   * Makes the directory exist and returns its path.
   * @throws WoolError when others could enter it; a system error such as ENOENT when the root is gone.
   */
  ensureDirectory(): string {
    const folder = namespaceFolder(this.name);
    return this.#root === undefined ? makePrivateDirectory(folder) : ensurePrivateDirectory(join(this.#root, folder));
  }

  /** Writes the worker's entry, in place of the one this publisher wrote before. */
  write(worker: WorkerMetadata): void {
    const publisher = currentProcess();
    this.#revision = Math.max(this.#revision + 1, Date.now());
    const text = formatEntry({
      namespace: this.name,
      revision: this.#revision,
      worker,
      processes: processesOf(worker, publisher),
    });
    const name = `${entryPrefix(worker.uid)}${this.#publisher}.json`;
    for (let attempt = 1; ; attempt++) {
      try {
        const directory = this.ensureDirectory();
        const unfinished = join(directory, unfinishedName());
        writeFileSync(unfinished, text, { mode: 0o600 });
        renameSync(unfinished, join(directory, name));
        this.#written.set(worker.uid, join(directory, name));
        return;
      } catch (error) {
        if (errorCode(error) === "ENOENT" && attempt < WRITE_ATTEMPTS) continue;
        if (error instanceof WoolError) throw error;
        throw new WoolError(
          `Worker ${worker.uid} could not be announced in the local namespace ${JSON.stringify(this.name)}: ${String(error)}`,
          { cause: error },
        );
      }
    }
  }

  /** Removes the entries of the worker, whoever published them. */
  remove(uid: string): void {
    this.#written.delete(uid);
    const directory = this.#path();
    for (const file of listFiles(directory)) {
      if (file.startsWith(entryPrefix(uid))) removeFile(join(directory, file));
    }
  }

  /** Removes the entries this publisher wrote, and the directory if that leaves it empty. */
  removeOwn(): void {
    for (const path of this.#written.values()) removeFile(path);
    this.#written.clear();
    this.removeIfEmpty();
  }

  /** Removes the directory if nothing is in it. */
  removeIfEmpty(): void {
    removeEmptyDirectory(this.#path());
  }

  /**
   * The workers that are announced now and whose processes live. Entries of dead ones are removed.
   * @throws WoolError when others could enter the directory.
   */
  read(): WorkerMetadata[] {
    const directory = this.#path();
    if (!checkPrivateDirectory(directory)) return [];
    const newest = new Map<string, LocalEntry>();
    for (const entry of readLiveEntries(directory)) {
      const other = newest.get(entry.worker.uid);
      if (entry.namespace !== this.name || (other !== undefined && other.revision > entry.revision)) continue;
      newest.set(entry.worker.uid, entry);
    }
    return Array.from(newest.values(), ({ worker }) => worker);
  }

  #path(): string {
    return join(this.#root ?? runtimeDirectory(), namespaceFolder(this.name));
  }
}
