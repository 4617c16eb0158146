import type { DiscoveryEvent, DiscoveryLike, WorkerMetadata } from "wool-ts";

/** The events of a subscription so far. */
export interface Followed extends AsyncDisposable {
  /** Such as `added w-1`. */
  readonly events: readonly string[];
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
}

/** Follows a discovery from now on. */
export function follow(discovery: DiscoveryLike): Followed {
  const iterator = discovery.subscribe()[Symbol.asyncIterator]();
  const events: string[] = [];
  const workers = new Map<string, WorkerMetadata>();
  const take = ({ type, worker }: DiscoveryEvent): void => {
    events.push(`${type.slice("worker-".length)} ${worker.uid}`);
    if (type === "worker-dropped") workers.delete(worker.uid);
    else workers.set(worker.uid, worker);
  };
  void (async () => {
    for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) take(step.value);
  })();
  return {
    events,
    workers,
    [Symbol.asyncDispose]: async () => void (await iterator.return?.()),
  };
}

/** Metadata of a worker that need not exist. */
export function someWorker(uid: string, address = "10.0.0.1:7001", ...tags: string[]): WorkerMetadata {
  return { uid, address, pid: 1, version: "1", tags: new Set(tags), extra: {}, secure: false, channel: {} };
}
