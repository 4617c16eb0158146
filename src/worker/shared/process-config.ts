import type { ResourceLimits } from "node:worker_threads";
import type { WorkerDescription } from "../../discovery/index.ts";
import type { ListenAddress } from "../../grpc/index.ts";
import type { CredentialsText } from "../../security/index.ts";
import type { ShippedHook } from "./shipped-hook.ts";

/** The credentials of a worker, in its process. They come through the control pipe, which nobody else can read. */
export interface ProcessCredentials extends CredentialsText {
  /** The name that certificates of other workers must carry, if not the host. */
  readonly identity: string | undefined;
}

/** What a worker process is told at its start, as one line of JSON on its control pipe. */
export interface ProcessConfig {
  readonly uid: string;
  /** What it tells callers of itself who know nothing but its address. */
  readonly about: WorkerDescription;
  readonly listen: ListenAddress;
  readonly threads: number;
  readonly maxConcurrency: number;
  readonly authorize?: ShippedHook;
  readonly backpressure?: ShippedHook;
  readonly credentials?: ProcessCredentials;
  readonly preload: readonly string[];
  readonly resourceLimits?: ResourceLimits;
  readonly root: string;
  readonly proxyPoolTtl: number;
  readonly shutdownGracePeriod: number;
  readonly spin: boolean;
  readonly payloadDirectory: string;
  /** The pool's directory, which the worker removes when its parent is gone. */
  readonly directory: string;
}

/** What a worker process answers, as one line of JSON. */
export type ProcessReport =
  | { readonly ready: true; readonly listen: ListenAddress }
  | { readonly ready: false; readonly error: string };

/** The file descriptor of the control pipe. Its end means that the parent is gone. */
export const CONTROL_FD = 3;
