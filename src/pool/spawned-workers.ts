import { describeValue } from "../checks/index.ts";
import {
  checkWorker,
  type DiscoveryEventType,
  type DiscoveryPublisherLike,
  type WorkerMetadata,
} from "../discovery/index.ts";
import { InvalidArgument, WoolError, WorkerStartError } from "../errors.ts";
import { Deadline } from "../time/index.ts";
import type { WorkerChange, WorkerFactory, WorkerLike, WorkerOptions } from "../worker/index.ts";

/** How long a worker may take beyond the time that it was given to start, in milliseconds. */
const START_SLACK_MS = 3000;
/** How long a worker may take to stop beyond the time that its tasks were given, in milliseconds. */
const STOP_SLACK_MS = 10_000;
/** How long a discovery may take to withdraw workers, in milliseconds. */
const WITHDRAWAL_LIMIT_MS = 5000;

/** How workers are spawned. */
export interface SpawnedWorkersOptions {
  readonly make: () => WorkerLike;
  readonly publisher: DiscoveryPublisherLike;
  /** Milliseconds that a worker may take to start. */
  readonly startLimit: number;
  /** Milliseconds that a worker may take to stop beyond the time that its tasks are given. */
  readonly stopLimit?: number;
  /** Called with each worker before it is started. */
  readonly made: (worker: WorkerLike) => void;
  /** Called when a worker takes tasks, also when it is back. */
  readonly present: (worker: WorkerMetadata) => void;
  /** Called when a worker has ended without being stopped, before `missed` and `lost`. */
  readonly gone: (uid: string) => void;
  /** Called when a worker is lost and will be back. */
  readonly missed: (uid: string) => void;
  /** Called when a worker is lost for good, with the reason. */
  readonly lost: (uid: string, error: Error) => void;
}

/**
 * The workers that a pool has started: announces them, follows their changes, and stops them. `starting`: they may be
 * added. `running`: all have started. `stopping`: they are being stopped, or were.
 */
export class SpawnedWorkers {
  readonly #options: SpawnedWorkersOptions;
  readonly #workers = new Map<string, WorkerLike>();
  readonly #watches: Disposable[] = [];
  readonly #announced = new Map<string, WorkerMetadata>();
  readonly #bound = new Deadline();
  #state: "starting" | "running" | "stopping" = "starting";
  /** Announcements of a worker are made one after the other, so that the last one counts. */
  readonly #announcing = new Map<string, Promise<void>>();

  constructor(options: SpawnedWorkersOptions) {
    this.#options = options;
  }

  /** Starts workers at the same time. Rejects as soon as one cannot be started; the others are stopped by `stop`. */
  async start(size: number): Promise<void> {
    for (let i = 0; i < size; i++) {
      const worker = this.#options.make();
      if (this.#workers.has(worker.uid)) {
        throw new InvalidArgument(
          `option "worker" returned worker ${worker.uid} twice: it must make a new one each time`,
        );
      }
      this.#workers.set(worker.uid, worker);
      this.#options.made(worker);
    }
    await Promise.all(Array.from(this.#workers.values(), (worker) => this.#startOne(worker)));
    this.#state = "running";
  }

  /**
   * Withdraws the workers and stops them. `timeout`: milliseconds that running tasks have, `Infinity` for no limit. If
   * a worker cannot be stopped, it stops the others and then rejects with the error.
   */
  async stop(timeout: number): Promise<void> {
    this.#state = "stopping";
    for (const watch of this.#watches) watch[Symbol.dispose]();
    await this.#withdraw();
    this.#limit(timeout);
    const stops = await Promise.allSettled(
      Array.from(this.#workers.values(), (worker) => this.#stopOne(worker, timeout)),
    );
    this.#bound.clear();
    const errors = stops.flatMap((stop) => (stop.status === "rejected" ? [stop.reason as unknown] : []));
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} workers could not be stopped`);
    if (errors.length === 1) throw errors[0];
  }

  /** Gives less time to workers that are being stopped. */
  hurry(timeout: number): void {
    if (this.#state !== "stopping") return;
    this.#limit(timeout);
    for (const worker of this.#workers.values()) void attempt(() => worker.stop({ timeout })).catch(() => undefined);
  }

  async #startOne(worker: WorkerLike): Promise<void> {
    const { startLimit: timeout } = this.#options;
    const late = new Deadline();
    late.shorten(timeout + START_SLACK_MS);
    const limit = late.passed.then(() => {
      throw new WorkerStartError(`worker ${worker.uid} did not start within the quorumTimeout of ${timeout} ms`);
    });
    try {
      const started = attempt(() => worker.start(Number.isFinite(timeout) ? { timeout } : {}));
      void this.#stopIfLate(worker, started);
      await Promise.race([started, limit]);
    } finally {
      late.clear();
    }
    if (this.#state !== "starting") return;
    if (worker.metadata === undefined) {
      throw new WorkerStartError(`worker ${worker.uid} was started but has no metadata to announce`);
    }
    checkWorker(worker.metadata);
    if (worker.metadata.uid !== worker.uid) {
      throw new InvalidArgument(`worker ${worker.uid} has metadata with another uid, ${worker.metadata.uid}`);
    }
    if (worker.watch !== undefined) {
      this.#watches.push(worker.watch((change) => this.#changed(change)));
      this.#options.present(worker.metadata);
    }
    await this.#announce("worker-added", worker.metadata);
  }

  /** Stops a worker that becomes ready only after all others were stopped. */
  async #stopIfLate(worker: WorkerLike, started: Promise<void>): Promise<void> {
    try {
      await started;
      if (this.#state === "stopping") await worker.stop({ timeout: 0 });
    } catch {
      // `start()` has already rejected with this error.
    }
  }

  async #stopOne(worker: WorkerLike, timeout: number): Promise<void> {
    const limit = this.#bound.passed.then(() => {
      throw new WoolError(`worker ${worker.uid} did not stop in time: its process or tasks may still run`);
    });
    await Promise.race([attempt(() => worker.stop({ timeout })), limit]);
  }

  #limit(timeout: number): void {
    this.#bound.shorten(timeout + (this.#options.stopLimit ?? 0) + STOP_SLACK_MS);
  }

  #changed(change: WorkerChange): void {
    if (this.#state === "stopping") return;
    const { metadata } = change;
    if (change.kind === "lost") this.#options.gone(metadata.uid);
    else this.#options.present(metadata);
    if (change.kind === "lost" && !change.final) this.#options.missed(metadata.uid);
    const announced = this.#announce(change.kind === "lost" ? "worker-dropped" : "worker-added", metadata);
    announced.catch((error: unknown) => {
      process.emitWarning(`worker ${metadata.uid} could not be announced: ${String(error)}`, "WoolWarning");
    });
    if (change.kind === "lost" && change.final) {
      const { uid } = metadata;
      this.#options.lost(uid, new WorkerStartError(`worker ${uid} was lost: ${change.reason}`));
    }
  }

  #announce(type: DiscoveryEventType, metadata: WorkerMetadata): Promise<void> {
    const before = this.#announcing.get(metadata.uid) ?? Promise.resolve();
    const announcement = before.then(() => this.#options.publisher.publish(type, metadata));
    this.#announcing.set(
      metadata.uid,
      announcement.catch(() => undefined),
    );
    if (type === "worker-dropped") this.#announced.delete(metadata.uid);
    else this.#announced.set(metadata.uid, metadata);
    return announcement;
  }

  /** Withdraws the announced workers. A discovery that fails or hangs does not keep workers from being stopped. */
  async #withdraw(): Promise<void> {
    const limit = new Deadline();
    limit.shorten(WITHDRAWAL_LIMIT_MS);
    const withdrawals = Array.from(this.#announced.values(), (metadata) => this.#announce("worker-dropped", metadata));
    await Promise.race([Promise.allSettled(withdrawals), limit.passed]);
    limit.clear();
  }
}

/** Rejects also when `operation` throws synchronously. */
async function attempt(operation: () => Promise<void>): Promise<void> {
  await operation();
}

const RETURNS = "it must return a worker, as (options) => new LocalWorker(options) does";

/** Makes a worker with a factory. Throws `InvalidArgument` if the result is not a worker, and the errors of the factory. */
export function makeWorker(factory: WorkerFactory, options: WorkerOptions): WorkerLike {
  if (/^class\b/.test(Function.prototype.toString.call(factory))) {
    const name = factory.name === "" ? "Class" : factory.name;
    throw new InvalidArgument(
      `option "worker" is the class ${name}: give a function that makes one, (options) => new ${name}(options)`,
    );
  }
  const worker: unknown = factory(options);
  const problem = workerProblem(worker);
  if (problem === undefined) return worker as WorkerLike;
  throw new InvalidArgument(`option "worker" returned ${describeValue(worker)}, and ${problem}: ${RETURNS}`);
}

function workerProblem(worker: unknown): string | undefined {
  if (typeof worker !== "object" || worker === null) return "that is not an object";
  if ("then" in worker) return "a promise is not a worker (start slow things in its start())";
  for (const method of ["start", "stop"]) {
    if (typeof Reflect.get(worker, method) !== "function") return `that has no method ${method}()`;
  }
  if (!("uid" in worker) || typeof worker.uid !== "string" || worker.uid === "") return "that has no uid";
  return undefined;
}
