import type { ResourceLimits } from "node:worker_threads";
import type { WorkerDescription } from "../../discovery/index.ts";
import type { ListenAddress } from "../../grpc/index.ts";
import type { CredentialsText } from "../../security/index.ts";
import type { ShippedValue } from "./hooks.ts";
import type { CompleteWorkerLimits } from "./worker-limits.ts";

/** The file descriptor of the control pipe. When it closes, the parent is gone. */
export const CONTROL_FD = 3;

/** The credentials of a worker, in its process. They come through the control pipe, which no other process can read. */
export interface ProcessCredentials extends CredentialsText {
  /** The name that certificates of other workers must carry, if not the host. */
  readonly identity: string | undefined;
}

/** The task threads that a worker process starts with, as JSON in its first argument. */
export interface ThreadStart {
  readonly threads: number;
  readonly resourceLimits?: ResourceLimits | undefined;
}

/** What a worker process is told at its start, as one line of JSON on its control pipe. */
export interface ProcessConfig {
  readonly uid: string;
  /** What the worker tells callers that know only its address. */
  readonly about: WorkerDescription;
  readonly listen: ListenAddress;
  readonly threads: number;
  readonly maxConcurrency: number;
  readonly authorize?: ShippedValue;
  readonly backpressure?: ShippedValue;
  readonly setup?: ShippedValue;
  readonly credentials?: ProcessCredentials;
  readonly preload: readonly string[];
  readonly resourceLimits?: ResourceLimits;
  readonly limits: CompleteWorkerLimits;
  readonly root: string;
  /** In milliseconds; null for no limit, which JSON makes of `Infinity`. */
  readonly proxyPoolTtl: number | null;
  /** In milliseconds; null for no limit, which JSON makes of `Infinity`. */
  readonly shutdownGracePeriod: number | null;
  /** In bytes; null for no limit, which JSON makes of `Infinity`. */
  readonly shareBudget: number | null;
  readonly spin: boolean;
  readonly payloadDirectory: string;
  /** The pool's directory, which the worker removes when its parent is gone. */
  readonly directory: string;
}

/** What a worker process answers, as one line of JSON. */
export type ProcessReport =
  | { readonly ready: true; readonly listen: ListenAddress }
  | { readonly ready: false; readonly error: string; readonly thrown?: ShippedValue };

/** What a worker process is told on its control pipe after its configuration, as lines of JSON. */
export type ProcessCommand =
  /** Stop. Running tasks have this many milliseconds; negative for no limit. */
  | { readonly stop: number }
  /** Answer, to show that the process is not frozen. */
  | { readonly ping: number }
  /** Use these credentials for new connections. */
  | { readonly credentials: ProcessCredentials };

/** What a worker process writes to its control pipe, as lines of JSON. The first is its report. */
export type ProcessWord = ProcessReport | { readonly pong: number };

/** Splits a stream of text into lines, and parses each line as JSON. */
export class ControlLines {
  readonly #take: (line: unknown) => void;
  #partial = "";

  constructor(take: (line: unknown) => void) {
    this.#take = take;
  }

  add(chunk: string): void {
    const lines = (this.#partial + chunk).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) this.#take(JSON.parse(line));
  }
}
