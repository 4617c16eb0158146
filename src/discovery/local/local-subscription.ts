import { type FSWatcher, statSync, watch } from "node:fs";
import { basename } from "node:path";
import { errorCode } from "../../checks/index.ts";
import { WoolError } from "../../errors.ts";
import type { WorkerSink } from "../worker-subscription.ts";
import type { LocalNamespace, NamespaceReader } from "./local-namespace.ts";

/**
 * Follows a local namespace on behalf of one subscriber: looks at once, whenever the file system reports a change, and
 * every `pollInterval` milliseconds, since a process that dies changes no file. Keeps no program alive.
 */
export class LocalSubscription {
  #state: "following" | "failing" | "closed" = "following";
  readonly #namespace: LocalNamespace;
  readonly #reader: NamespaceReader;
  readonly #sink: WorkerSink;
  readonly #timer: NodeJS.Timeout;
  #watched: { readonly watcher: FSWatcher; readonly directory: string } | undefined;
  #scheduled: NodeJS.Immediate | undefined;

  constructor(namespace: LocalNamespace, sink: WorkerSink, pollInterval: number) {
    this.#namespace = namespace;
    this.#reader = namespace.reader();
    this.#sink = sink;
    this.#timer = setInterval(() => this.#look(true), pollInterval).unref();
    this.#look(true);
  }

  /** Ends the iteration and frees the watcher and the timer. Idempotent. */
  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearInterval(this.#timer);
    clearImmediate(this.#scheduled);
    this.#unwatch();
    this.#sink.end();
    this.#namespace.removeIfEmpty();
  }

  /** `all`: looks for dead processes, too. */
  #look(all: boolean): void {
    this.#scheduled = undefined;
    if (this.#state === "closed") return;
    try {
      // Watching comes first: what changes after the look is then reported.
      this.#watch();
      const changes = this.#reader.changes(all);
      this.#state = "following";
      for (const [uid, worker] of changes) if (worker === undefined) this.#sink.drop(uid);
      for (const worker of changes.values()) if (worker !== undefined) this.#sink.change(worker);
    } catch (error) {
      // The directory is not private: no later look is going to like it better.
      if (error instanceof WoolError) this.#sink.fail(error);
      else this.#reportOnce(error);
    }
  }

  /** Watches the namespace's directory, again when another process removed it and it had to be made anew. */
  #watch(): void {
    const path = this.#makeDirectory();
    if (path === undefined) {
      this.#unwatch();
      return;
    }
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) {
      this.#lookSoon();
      return;
    }
    const directory = `${stats.ino}/${stats.birthtimeMs}`;
    if (this.#watched?.directory === directory) return;
    this.#unwatch();
    try {
      const watcher = watch(path, { persistent: false }, (_type, file) => {
        if (file === basename(path)) this.#unwatch();
        if (file === null || !file.startsWith(".")) this.#lookSoon();
      });
      // Most often the system's limit of watches is reached: polling goes on.
      watcher.on("error", () => this.#unwatch());
      this.#watched = { watcher, directory };
    } catch {
      this.#watched = undefined;
    }
  }

  /** The path of the directory, or `undefined` when what surrounds it is gone: then no worker is announced. */
  #makeDirectory(): string | undefined {
    try {
      return this.#namespace.ensureDirectory();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  #lookSoon(): void {
    this.#scheduled ??= setImmediate(() => this.#look(false)).unref();
  }

  #unwatch(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }

  #reportOnce(error: unknown): void {
    if (this.#state === "failing") return;
    this.#state = "failing";
    process.emitWarning(
      `the local namespace ${JSON.stringify(this.#namespace.name)} cannot be read, and the workers known so far are kept: ${String(error)}`,
      "WoolWarning",
    );
  }
}
