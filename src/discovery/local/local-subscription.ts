import { type FSWatcher, statSync, watch } from "node:fs";
import { basename } from "node:path";
import { errorCode } from "../../checks/index.ts";
import { WoolError } from "../../errors.ts";
import { Timer } from "../../time/index.ts";
import type { WorkerSink } from "../worker-subscription.ts";
import type { LocalNamespace, NamespaceReader } from "./local-namespace.ts";

/**
 * Follows a local namespace for one subscriber: looks at once, whenever the file system reports a change, and every
 * `pollInterval` milliseconds, because a process that dies changes no file. Does not keep the program alive.
 */
export class LocalSubscription {
  #state: "following" | "failing" | "closed" = "following";
  readonly #namespace: LocalNamespace;
  readonly #reader: NamespaceReader;
  readonly #sink: WorkerSink;
  readonly #pollInterval: number;
  #timer: Timer | undefined;
  #watched: { readonly watcher: FSWatcher; readonly directory: string } | undefined;
  #scheduled: NodeJS.Immediate | undefined;
  /** Files that were reported since the last look; `undefined` when the names are not known. */
  #reported: Set<string> | undefined = new Set();

  constructor(namespace: LocalNamespace, sink: WorkerSink, pollInterval: number) {
    this.#namespace = namespace;
    this.#reader = namespace.reader();
    this.#sink = sink;
    this.#pollInterval = pollInterval;
    this.#poll();
  }

  /** Ends the iteration and frees the watcher and the timer. Idempotent. */
  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#timer?.clear();
    clearImmediate(this.#scheduled);
    this.#unwatch();
    this.#sink.end();
    this.#namespace.removeIfEmpty();
  }

  #poll(): void {
    this.#timer = new Timer(this.#pollInterval, () => this.#poll()).unref();
    this.#look("all");
  }

  /**
   * `all`: also looks for dead processes. `new`: looks at the reported files, or at every file if the names are not
   * known.
   */
  #look(which: "all" | "new"): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#state === "closed") return;
    try {
      // Watching starts first, so that every change after the look is reported.
      this.#watch();
      const reported = this.#reported;
      this.#reported = new Set();
      const changes = this.#reader.changes(which === "all" ? which : (reported ?? which));
      this.#state = "following";
      for (const [uid, worker] of changes) if (worker === undefined) this.#sink.drop(uid);
      for (const worker of changes.values()) if (worker !== undefined) this.#sink.change(worker);
    } catch (error) {
      // The directory is not private. That will not change by itself.
      if (error instanceof WoolError) this.#sink.fail(error);
      else this.#reportOnce(error);
      // The reported files have not been read.
      this.#reported = undefined;
    }
  }

  /** Watches the namespace's directory, and watches it again after another process removed it and it was made anew. */
  #watch(): void {
    const path = this.#makeDirectory();
    if (path === undefined) {
      this.#unwatch();
      return;
    }
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) {
      this.#reported = undefined;
      this.#lookSoon();
      return;
    }
    const directory = `${stats.ino}/${stats.birthtimeMs}`;
    if (this.#watched?.directory === directory) return;
    this.#unwatch();
    // This is the first folder, or another one than before.
    this.#reported = undefined;
    try {
      const watcher = watch(path, { persistent: false }, (_type, file) => {
        if (file === basename(path)) this.#unwatch();
        if (file === null || file === basename(path)) this.#reported = undefined;
        else if (file.startsWith(".")) return;
        else this.#reported?.add(file);
        this.#lookSoon();
      });
      // The most frequent cause is the system's limit of watches. Polling continues.
      watcher.on("error", () => this.#unwatch());
      this.#watched = { watcher, directory };
    } catch {
      this.#watched = undefined;
    }
  }

  /** The path of the directory, or `undefined` when its parent is gone: then no worker is announced. */
  #makeDirectory(): string | undefined {
    try {
      return this.#namespace.ensureDirectory();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  #lookSoon(): void {
    this.#scheduled ??= setImmediate(() => this.#look("new")).unref();
  }

  #unwatch(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }

  #reportOnce(error: unknown): void {
    if (this.#state === "failing") return;
    this.#state = "failing";
    process.emitWarning(
      `the local namespace ${JSON.stringify(this.#namespace.name)} cannot be read, and the workers known so far stay in use: ${String(error)}`,
      "WoolWarning",
    );
  }
}
