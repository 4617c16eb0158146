import { rmSync } from "node:fs";
import { MAX_SOCKET_PATH_BYTES } from "../../checks/index.ts";
import type { ListenAddress } from "../../grpc/index.ts";

/** The sockets of the task threads of a worker, beside the socket of the worker. */
export class LanePaths {
  /** The beginning of the paths; undefined if callers cannot connect to task threads. */
  readonly #base: string | undefined;
  /** The path of each thread, by the number of the thread. */
  readonly #paths: string[] = [];
  #last = 0;

  /** `isEncrypted`: encrypted connections must end in the gRPC thread, so they have no lanes. */
  constructor(worker: ListenAddress, isEncrypted: boolean) {
    const hasLanes = "path" in worker && !isEncrypted && process.platform !== "win32";
    this.#base = hasLanes ? worker.path.replace(/\.sock$/, "") : undefined;
  }

  /** Where callers reach a thread; undefined if they cannot. */
  of(thread: number): string | undefined {
    return this.#paths[thread];
  }

  /** A new path for a thread, so that nobody reaches it with messages meant for its predecessor. */
  renew(thread: number): string | undefined {
    const last = this.#paths[thread];
    if (last !== undefined) rmSync(last, { force: true });
    if (this.#base === undefined) return undefined;
    const path = `${this.#base}.${++this.#last}`;
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) return undefined;
    this.#paths[thread] = path;
    return path;
  }

  /** Removes the sockets. */
  remove(): void {
    for (const path of this.#paths) rmSync(path, { force: true });
  }
}
