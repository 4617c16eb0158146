import { checkOptions, must } from "../../checks/index.ts";
import type { WorkerMetadata } from "../../discovery/index.ts";
import { WorkerStartError } from "../../errors.ts";
import { Timer } from "../../time/index.ts";
import { LocalWorker, type LocalWorkerPlacement } from "./local-worker.ts";
import { type RestartOptions, RestartPolicy } from "./restart-policy.ts";
import type { WorkerOptions } from "./worker-options.ts";
import type { ProcessEnd } from "./worker-process.ts";

/** How long a restarted process may take to be ready when its first start had no limit, in milliseconds. */
const START_LIMIT_MS = 60_000;

const CHECKS = {
  firstDelay: must.duration,
  longestDelay: must.duration,
  crashLimit: must.limit(1),
  window: must.duration,
  directory: must.anything,
  spin: must.anything,
};

/**
 * A `LocalWorker` whose process is started again when it crashes. It keeps its uid, its tags and, if possible, its
 * address. The tasks of the crashed process are lost. A process that was told to end is not started again. `steady`:
 * the process runs, or starts for the first time. `waiting`: for the next restart. `restarting`: a new process starts.
 * `over`: stopped, or given up after too many crashes, with a warning.
 */
export class ResilientWorker extends LocalWorker {
  readonly restarts = true;
  readonly #policy: RestartPolicy;
  #state: "steady" | "waiting" | "restarting" | "over" = "steady";
  #timer: Timer | undefined;
  #restarting: Promise<void> | undefined;
  #startLimit = START_LIMIT_MS;

  /** Throws `InvalidArgument` for wrong options. */
  constructor(options?: WorkerOptions, restart?: RestartOptions);
  /** @internal */
  constructor(options: WorkerOptions, restart: RestartOptions & LocalWorkerPlacement);
  constructor(options: WorkerOptions = {}, restart: RestartOptions & LocalWorkerPlacement = {}) {
    super(options, restart);
    checkOptions(restart, CHECKS, new.target.name);
    this.#policy = new RestartPolicy(restart);
  }

  protected override async onStart(timeout: number): Promise<WorkerMetadata> {
    if (Number.isFinite(timeout)) this.#startLimit = timeout;
    return await super.onStart(timeout);
  }

  protected override async onStop(timeout: number): Promise<void> {
    this.#state = "over";
    this.#timer?.clear();
    await super.onStop(timeout);
    await this.#restarting;
  }

  /** @internal */
  protected override processEnded(end: ProcessEnd, lastWords: string): void {
    if (this.#state !== "steady") return;
    if (end.orderly) {
      this.#state = "over";
      super.processEnded(end, lastWords);
    } else this.#crashed(end.reason, lastWords);
  }

  #crashed(reason: string, lastWords: string): void {
    const { metadata } = this;
    const delay = this.#policy.crashed();
    if (delay === undefined) this.#giveUp(reason, lastWords);
    else {
      if (this.#state === "steady" && metadata !== undefined) {
        this.changed({ kind: "lost", metadata, reason, final: false });
      }
      this.#state = "waiting";
      this.#timer = new Timer(delay, () => {
        this.#restarting = this.#restart();
      });
      // A program whose workers are idle may end.
      this.#timer.unref();
    }
  }

  async #restart(): Promise<void> {
    this.#state = "restarting";
    try {
      const metadata = await this.launch(this.#startLimit, "background");
      if (this.#isOver()) return;
      this.#state = "steady";
      this.changed({ kind: "back", metadata });
    } catch (error) {
      if (this.#isOver()) return;
      this.#crashed("it could not be started again", error instanceof WorkerStartError ? error.message : String(error));
    }
  }

  #giveUp(reason: string, lastWords: string): void {
    this.#state = "over";
    const { crashLimit, window } = this.#policy;
    const story = `crashed ${crashLimit} times within ${window} ms and is not started again: ${reason}\n${lastWords}`;
    process.emitWarning(`worker ${this.uid} ${story}`, "WoolWarning");
    const { metadata } = this;
    if (metadata !== undefined) this.changed({ kind: "lost", metadata, reason: `it ${story}`, final: true });
  }

  #isOver(): boolean {
    return this.#state === "over";
  }
}
