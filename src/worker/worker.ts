import { randomBytes } from "node:crypto";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument, WorkerStartError } from "../errors.ts";
import { checkWorkerOptions, type WorkerOptions } from "./worker-options.ts";

/** Something that runs tasks and can be started and stopped. */
export interface WorkerLike {
  readonly uid: string;
  readonly tags: ReadonlySet<string>;
  readonly extra: Readonly<Record<string, string>>;
  /** What callers need to know of it; `undefined` before it is started. */
  readonly metadata: WorkerMetadata | undefined;
  /** Where callers reach it; `undefined` before it is started. */
  readonly address: string | undefined;
  start(options?: { timeout?: number }): Promise<void>;
  stop(options?: { timeout?: number }): Promise<void>;
}

/** Makes the workers of a pool. */
export type WorkerFactory = (options: WorkerOptions) => WorkerLike;

/**
 * Base of workers: keeps the states in order and leaves the work to `onStart` and `onStop`.
 * `new`, `starting`, `running`, `stopping`, `stopped`.
 */
export abstract class Worker implements WorkerLike, AsyncDisposable {
  readonly uid: string = `w-${randomBytes(6).toString("hex")}`;
  readonly tags: ReadonlySet<string>;
  readonly extra: Readonly<Record<string, string>>;
  protected readonly options: WorkerOptions;
  #state: "new" | "starting" | "running" | "stopping" | "stopped" = "new";
  #metadata: WorkerMetadata | undefined;
  #stopping: Promise<void> | undefined;

  /** Throws `InvalidArgument` for options that are wrong. */
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

  /** Starts the worker; resolves when it takes tasks. `timeout`: milliseconds that may take; default: no limit. */
  async start(options: { timeout?: number } = {}): Promise<void> {
    if (this.#state !== "new") {
      throw new InvalidArgument(`worker ${this.uid} is ${this.#state}: a worker is started once`);
    }
    this.#state = "starting";
    let metadata: WorkerMetadata;
    try {
      metadata = await this.onStart(options.timeout);
    } catch (error) {
      this.#state = "stopped";
      throw error;
    }
    if (this.#stopping !== undefined) throw new WorkerStartError(`worker ${this.uid} was stopped while it started`);
    this.#metadata = metadata;
    this.#state = "running";
  }

  /** Stops the worker. `timeout` 0 cancels what runs, above waits that long first, negative or infinite waits for all. */
  async stop(options: { timeout?: number } = {}): Promise<void> {
    if (this.#state === "new" || this.#state === "stopped") {
      this.#state = "stopped";
      return;
    }
    this.#state = "stopping";
    this.#stopping ??= this.onStop(options.timeout ?? 0).finally(() => {
      this.#state = "stopped";
    });
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Starts it and tells how it can be reached. Leaves nothing behind when it fails. */
  protected abstract onStart(timeout: number | undefined): Promise<WorkerMetadata>;

  /** Stops it. */
  protected abstract onStop(timeout: number): Promise<void>;
}
