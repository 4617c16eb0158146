import { messageOf } from "../checks/index.ts";
import type { WorkerMetadata } from "../discovery/index.ts";
import { WorkerConnection } from "../proxy/index.ts";
import type { WorkerCredentialsProvider } from "../security/index.ts";
import { Timer } from "../time/index.ts";
import { discoveryAt } from "./arguments.ts";
import { UsageError } from "./command.ts";

/** How long to listen for more workers after the last one, in milliseconds. A network is slower than one machine. */
const QUIET_MS = { lan: 1500, local: 50, other: 500 };
/**
 * How long to wait for the first worker on a network, unless the discovery reports a problem, in milliseconds. Workers
 * on a LAN answer the same question at most once a second.
 */
const FIRST_MS = 3000;
const ANSWER_MS = 3000;

/** Workers that a discovery knows, and the problem of the discovery, if it has one. */
export interface FoundWorkers {
  readonly workers: readonly WorkerMetadata[];
  readonly problem: string | undefined;
}

/** Collects the workers that a discovery reports, until it has reported no other for a while. */
export async function findWorkers(
  url: string,
  credentials: WorkerCredentialsProvider | undefined,
  wait?: number,
): Promise<FoundWorkers> {
  const scheme = url.slice(0, url.indexOf(":"));
  const quiet = wait ?? (scheme === "lan" ? QUIET_MS.lan : scheme === "local" ? QUIET_MS.local : QUIET_MS.other);
  const patience = wait ?? (scheme === "local" ? quiet : FIRST_MS);
  const discovery = await discoveryAt(url, credentials);
  const warnings = new HeldWarnings();
  const workers = new Map<string, WorkerMetadata>();
  const from = performance.now();
  const iterator = discovery.value.subscribe()[Symbol.asyncIterator]();
  const hasWaitedEnough = (): boolean =>
    workers.size > 0 || discovery.value.problem !== undefined || performance.now() - from >= patience;
  try {
    let next = iterator.next();
    for (;;) {
      let timer: Timer | undefined;
      const silence = new Promise<undefined>((resolve) => {
        timer = new Timer(quiet, () => resolve(undefined));
      });
      const step = await Promise.race([next, silence]);
      timer?.clear();
      if (step === undefined && !hasWaitedEnough()) continue;
      if (step === undefined || step.done === true) break;
      next = iterator.next();
      const { type, worker } = step.value;
      if (type === "worker-dropped") workers.delete(worker.uid);
      else workers.set(worker.uid, worker);
    }
    const { problem } = discovery.value;
    // The discovery has warned of its problem, and the command reports it too.
    if (problem !== undefined) warnings.forget();
    return { workers: [...workers.values()], problem };
  } finally {
    void iterator.return?.();
    await discovery.dispose();
    warnings.release();
  }
}

/** Holds back the warnings of this process. */
class HeldWarnings {
  readonly #listeners = process.listeners("warning");
  readonly #held: Error[] = [];

  constructor() {
    process.removeAllListeners("warning").on("warning", (warning) => this.#held.push(warning));
  }

  /** Drops the warnings so far. */
  forget(): void {
    this.#held.length = 0;
  }

  /** Shows the held warnings, and later ones as usual. */
  release(): void {
    process.removeAllListeners("warning");
    for (const listener of this.#listeners) process.on("warning", listener);
    for (const warning of this.#held) process.emit("warning", warning);
  }
}

/** Runs a function with a connection to a worker, within a few seconds. */
export async function withWorker<T>(
  worker: WorkerMetadata,
  credentials: WorkerCredentialsProvider | undefined,
  use: (connection: WorkerConnection) => Promise<T>,
  limit = ANSWER_MS,
): Promise<T> {
  const connection = new WorkerConnection(worker, credentials === undefined ? {} : { credentials });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (Number.isFinite(limit)) timer = setTimeout(() => reject(new Error(`no answer within ${limit} ms`)), limit);
  });
  try {
    return await Promise.race([use(connection), late]);
  } finally {
    clearTimeout(timer);
    await connection[Symbol.asyncDispose]();
  }
}

/** Why something failed, on one line. */
export function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return message.split("\n")[0] ?? "";
}

/** Finds the workers by their uids, or by the beginning of their uids. Throws `UsageError` for an ambiguous name. */
export function selectWorkers(workers: readonly WorkerMetadata[], names: readonly string[]): WorkerMetadata[] {
  return names.map((name) => {
    if (name === "") throw new UsageError("a worker is named by its uid or its name, not by an empty text");
    const [match, other] = workers.filter(({ uid, extra }) => uid === name || extra["name"] === name);
    const [near, second] = workers.filter(({ uid }) => uid.startsWith(name));
    if (match !== undefined && other === undefined) return match;
    if (match === undefined && near !== undefined && second === undefined) return near;
    const known = workers.map(({ uid }) => uid).join(", ") || "none";
    if (match === undefined && near === undefined)
      throw new UsageError(`there is no worker ${name}; there are: ${known}`);
    throw new UsageError(
      `${name} matches more than one worker: ${[match, other, near, second].flatMap((each) => each?.uid ?? []).join(", ")}`,
    );
  });
}
