import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../checks/index.ts";
import { WoolError } from "../../errors.ts";
import {
  checkPrivateDirectory,
  currentProcess,
  ensurePrivateDirectory,
  makePrivateDirectory,
  runtimeDirectory,
  uniqueName,
} from "../../host/index.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { EntryFolder, listFiles, removeEmptyDirectory, removeFile, unfinishedName } from "./entry-folder.ts";
import { entryFile, entryPrefix, formatEntry, type LocalEntry, namespaceFolder, processesOf } from "./local-entry.ts";

/** How often writing is tried again when another process removes the empty directory at the same moment. */
const WRITE_ATTEMPTS = 20;

/**
 * The directory of one namespace: a file for each worker and publisher, `<worker>.<publisher>.<revision>.json`. No two
 * publishers write the same file, so removing the file of a dead publisher cannot affect a live one.
 */
export class LocalNamespace {
  readonly name: string;
  readonly #root: string | undefined;
  readonly #publisher = uniqueName();
  readonly #written = new Map<string, string>();
  #revision = 0;

  /** `root` is the parent directory, which must exist; default: the runtime directory. */
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

  /** Writes the worker's entry, and then removes the one that this publisher wrote before. */
  write(worker: WorkerMetadata): void {
    this.#revision = Math.max(this.#revision + 1, Date.now());
    const revision = this.#revision;
    const text = formatEntry({
      namespace: this.name,
      revision,
      worker,
      processes: processesOf(worker, currentProcess()),
    });
    const path = this.#place(worker.uid, entryFile(worker.uid, this.#publisher, revision), text);
    const before = this.#written.get(worker.uid);
    this.#written.set(worker.uid, path);
    if (before !== undefined) removeFile(before);
  }

  /** Removes all entries of the worker, of any publisher. */
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

  /** Removes the directory if it is empty. */
  removeIfEmpty(): void {
    let path: string;
    try {
      path = this.#path();
    } catch {
      // There is no runtime directory on this machine, so there is nothing to remove.
      return;
    }
    removeEmptyDirectory(path);
  }

  /** A reader that reports the changes since its last look. */
  reader(): NamespaceReader {
    return new NamespaceReader(this.name, () => this.#path());
  }

  /** Writes a temporary file and renames it. Returns its path. */
  #place(uid: string, name: string, text: string): string {
    for (let attempt = 1; ; attempt++) {
      try {
        const directory = this.ensureDirectory();
        const unfinished = join(directory, unfinishedName());
        writeFileSync(unfinished, text, { mode: 0o600 });
        renameSync(unfinished, join(directory, name));
        return join(directory, name);
      } catch (error) {
        if (errorCode(error) === "ENOENT" && attempt < WRITE_ATTEMPTS) continue;
        if (error instanceof WoolError) throw error;
        throw new WoolError(
          `worker ${uid} could not be announced in the local namespace ${JSON.stringify(this.name)}: ${String(error)}`,
          { cause: error },
        );
      }
    }
  }

  #path(): string {
    return join(this.#root ?? runtimeDirectory(), namespaceFolder(this.name));
  }
}

/** What one subscriber has read from a namespace. */
export class NamespaceReader {
  readonly #namespace: string;
  readonly #path: () => string;
  readonly #folder = new EntryFolder();
  /** The entries of each worker: one for each publisher. */
  readonly #entries = new Map<string, Set<LocalEntry>>();

  constructor(namespace: string, path: () => string) {
    this.#namespace = namespace;
    this.#path = path;
  }

  /**
   * The workers that may have changed since the last look, each as it is now; `undefined` for one that is gone. With
   * `all` it also checks whether the processes of the known workers still live. With names of files it looks only at
   * those.
   * @throws WoolError when others could enter the directory.
   */
  changes(which: "all" | "new" | ReadonlySet<string>): Map<string, WorkerMetadata | undefined> {
    const directory = this.#path();
    // A missing directory is read as empty.
    checkPrivateDirectory(directory);
    const { added, removed } =
      typeof which === "string" ? this.#folder.look(directory, which === "all") : this.#folder.lookAt(directory, which);
    const touched = new Set<string>();
    for (const entry of removed) {
      this.#entries.get(entry.worker.uid)?.delete(entry);
      touched.add(entry.worker.uid);
    }
    for (const entry of added) {
      if (entry.namespace !== this.#namespace) continue;
      const { uid } = entry.worker;
      this.#entries.set(uid, (this.#entries.get(uid) ?? new Set()).add(entry));
      touched.add(uid);
    }
    return new Map(Array.from(touched, (uid) => [uid, this.#newest(uid)]));
  }

  #newest(uid: string): WorkerMetadata | undefined {
    let newest: LocalEntry | undefined;
    for (const entry of this.#entries.get(uid) ?? []) {
      if (newest === undefined || entry.revision > newest.revision) newest = entry;
    }
    if (newest === undefined) this.#entries.delete(uid);
    return newest?.worker;
  }
}
