import { randomBytes } from "node:crypto";
import { checkWorker, type WorkerMetadata } from "../../discovery/index.ts";
import { InvalidArgument, WorkerStartError } from "../../errors.ts";
import { startTimeout, stopTimeout } from "../shared/index.ts";
import { checkWorkerOptions, type WorkerOptions } from "./worker-options.ts";

/** A change of a worker between its start and its stop. */
export type WorkerChange =
  /** The worker cannot be reached any more; `final` unless it comes back by itself. */
  | { readonly kind: "lost"; readonly metadata: WorkerMetadata; readonly reason: string; readonly final: boolean }
  /** The worker is back. `metadata` says how to reach it. */
  | { readonly kind: "back"; readonly metadata: WorkerMetadata };

/** Told of each change of a worker. */
export type WorkerListener = (change: WorkerChange) => void;

/** Something that runs tasks and can be started and stopped. */
export interface WorkerLike {
  readonly uid: string;
  readonly tags: ReadonlySet<string>;
  readonly extra: Readonly<Record<string, string>>;
  /** What callers need to know of it; `undefined` before it is started. */
  readonly metadata: WorkerMetadata | undefined;
  /** Where callers reach it; `undefined` before it is started. */
  readonly address: string | undefined;
  /** Whether it comes back by itself when it is lost, and tells its watchers. Default: false. */
  readonly restarts?: boolean;
  /** Starts it within `timeout` milliseconds; default: no limit. */
  start(options?: { timeout?: number }): Promise<void>;
  /**
   * Stops it. `timeout`, in milliseconds: 0 cancels running tasks at once, a positive number gives them that long,
   * negative or infinite waits for all of them. Default: 0.
   */
  stop(options?: { timeout?: number }): Promise<void>;
  /** Tells a pool when the worker is lost or back after its start. Absent if the worker cannot know. */
  watch?(listener: WorkerListener): Disposable;
}

/** Makes the workers of a pool. */
export type WorkerFactory = (options: WorkerOptions) => WorkerLike;

/**
 * Base class of workers: manages the states and leaves the work to `onStart` and `onStop`. The states follow each
 * other: `new`, `starting`, `running`, `stopping`, `stopped`.
 */
export abstract class Worker implements WorkerLike, AsyncDisposable {
  readonly uid: string = `w-${randomBytes(6).toString("hex")}`;
  readonly tags: ReadonlySet<string>;
  readonly extra: Readonly<Record<string, string>>;
  protected readonly options: WorkerOptions;
  readonly #listeners = new Set<WorkerListener>();
  #state: "new" | "starting" | "running" | "stopping" | "stopped" = "new";
  #metadata: WorkerMetadata | undefined;
  #stopping: Promise<void> | undefined;
  /** When the time given by the last stop ends, on the clock of `performance.now`. */
  #stopAt = Number.POSITIVE_INFINITY;

  /** Throws `InvalidArgument` for wrong options. */
  constructor(options: WorkerOptions = {}) {
    checkWorkerOptions(options, new.target.name);
    this.options = options;
    this.tags = new Set(options.tags);
    this.extra = { ...options.extra };
  }

  get metadata(): WorkerMetadata | undefined {
    return this.#metadata;
  }

  get address(): string | undefined {
    return this.#metadata?.address;
  }

  /**
   * Starts the worker; resolves when it takes tasks. `timeout`: milliseconds that this may take; default: no limit.
   * Throws `InvalidArgument` for wrong options, for a worker that was started before, and when `onStart` returns
   * metadata that callers cannot use; `WorkerStartError` when it was stopped meanwhile; otherwise the error of
   * `onStart`.
   */
  async start(options?: { timeout?: number }): Promise<void> {
    const timeout = startTimeout(options, `${this.constructor.name}.start()`);
    if (this.#state !== "new") {
      throw new InvalidArgument(
        `worker ${this.uid} is ${this.#state}: a worker can be started only once. Make a new one`,
      );
    }
    this.#state = "starting";
    let metadata: WorkerMetadata;
    try {
      metadata = await this.onStart(timeout);
    } catch (error) {
      if (this.#stopping === undefined) this.#state = "stopped";
      throw error;
    }
    if (this.#stopping !== undefined) throw new WorkerStartError(`worker ${this.uid} was stopped while it started`);
    try {
      this.#metadata = checkWorker(metadata);
    } catch (error) {
      await this.stop().catch(() => undefined);
      throw error;
    }
    this.#state = "running";
  }

  /**
   * Stops the worker. `timeout`, in milliseconds: 0, the default, cancels running tasks at once; a positive number
   * gives them that long; negative or infinite waits for all of them. A second call can shorten the time. Throws the
   * error of `onStop`.
   */
  async stop(options?: { timeout?: number }): Promise<void> {
    const timeout = stopTimeout(options, `${this.constructor.name}.stop()`);
    if (this.#state === "new" || this.#state === "stopped") {
      this.#state = "stopped";
      return;
    }
    this.#state = "stopping";
    const stopAt = performance.now() + timeout;
    const urgent = stopAt < this.#stopAt;
    if (urgent) this.#stopAt = stopAt;
    if (this.#stopping === undefined) {
      this.#stopping = this.onStop(timeout).finally(() => {
        this.#state = "stopped";
      });
    } else if (urgent) this.onHurry(timeout);
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Calls `listener` when the worker is lost, and when it is back. Dispose of the returned object to stop that. */
  watch(listener: WorkerListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Starts it within `timeout` milliseconds, `Infinity` for no limit, and returns how it can be reached. Leaves nothing
   * behind when it fails.
   */
  protected abstract onStart(timeout: number): Promise<WorkerMetadata>;

  /** Stops it, also while it starts. `timeout`: milliseconds that running tasks have, `Infinity` for no limit. */
  protected abstract onStop(timeout: number): Promise<void>;

  /** Called when it is stopped again with less time than before. Does nothing by default. */
  protected onHurry(_timeout: number): void {}

  /** Tells the listeners. Has no effect while the worker is not running. */
  protected changed(change: WorkerChange): void {
    if (this.#state !== "running") return;
    this.#metadata = change.metadata;
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // A listener that throws must not stop the others.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
