import { checkOptions, describeValue, messageOf, must } from "../checks/index.ts";
import { acquireLink, releaseLink, type WorkerLink } from "../connection/index.ts";
import { addressProblem, type WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument, PoolClosed, UnexpectedResponse } from "../errors.ts";
import { dispatchThrough } from "../routine/index.ts";
import { type CredentialsLike, credentialsProblem, providerOf } from "../security/index.ts";
import { encodeStopRequest, readIdleResponse } from "../wire/index.ts";
import { WorkerProxy } from "./worker-proxy.ts";

const CONTROL_TIMEOUT_MS = 5000;
const STOP_CHECKS = { timeout: must.signedDuration };

const CONNECTION_CHECKS = { credentials: credentialsProblem };

/** How a worker is connected to. */
export interface WorkerConnectionOptions {
  /** For a worker that uses TLS. Default: none, for a worker without TLS. */
  readonly credentials?: CredentialsLike;
}

/** One worker, from a caller's side. Connects when it is first used. */
export class WorkerConnection implements AsyncDisposable {
  readonly #proxy: WorkerProxy;
  readonly #link: WorkerLink;
  #state: "open" | "closed" = "open";

  /** `worker`: its metadata or its address. Throws `InvalidArgument` for anything else. */
  constructor(worker: WorkerMetadata | string, options: WorkerConnectionOptions = {}) {
    checkOptions(options, CONNECTION_CHECKS, "WorkerConnection");
    const { credentials } = options;
    const address = typeof worker === "string" ? worker : worker?.address;
    const problem = typeof address === "string" ? addressProblem(address) : "it has no address";
    if (problem !== undefined) {
      throw new InvalidArgument(
        `a WorkerConnection takes a worker or its address, not ${describeValue(worker)}: ${problem}`,
      );
    }
    this.#proxy = new WorkerProxy({ workers: [worker], ...(credentials === undefined ? {} : { credentials }) });
    this.#link = acquireLink(address, {
      ...(typeof worker === "string" ? {} : worker.channel),
      ...(credentials === undefined ? {} : { credentials: providerOf(credentials) }),
    });
  }

  /** Calls a routine on this worker. */
  dispatch<A extends unknown[], T>(routine: (...args: A) => T, ...args: A): T {
    return dispatchThrough(this.#proxy, routine, args);
  }

  /** Milliseconds since the worker's last task ended; 0 while one runs. */
  async idleTime(): Promise<number> {
    const response = await this.#ask("Idle", new Uint8Array(0));
    try {
      const seconds = readIdleResponse(response);
      if (!(seconds >= 0)) throw new RangeError(`it is ${seconds} seconds`);
      return seconds * 1000;
    } catch (cause) {
      const reason = messageOf(cause);
      throw new UnexpectedResponse(
        `the idle time that worker ${this.#link.address} reports cannot be read: ${reason}`,
        {
          cause,
        },
      );
    }
  }

  /**
   * Stops the worker; resolves when it is gone. `timeout`, in milliseconds: 0, the default, cancels running tasks at
   * once; a positive number gives them that long; negative or infinite waits for all of them. If called again, the
   * shortest time counts.
   */
  async stop(options: { timeout?: number } = {}): Promise<void> {
    checkOptions(options, STOP_CHECKS, "connection.stop()");
    await this.#ask("Stop", encodeStopRequest(options.timeout ?? 0));
    await this.#link.disconnection();
  }

  /** Gives the connection back. The worker goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    releaseLink(this.#link, false);
    await this.#proxy.stop();
  }

  async #ask(method: "Stop" | "Idle", request: Uint8Array): Promise<Uint8Array> {
    // Other users may share the link.
    if (this.#state === "closed") throw new PoolClosed(`the connection to ${this.#link.address} is closed`);
    return await this.#link.unary(method, request, CONTROL_TIMEOUT_MS);
  }
}
