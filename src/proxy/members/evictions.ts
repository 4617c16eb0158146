import type { WorkerMetadata } from "../../discovery/index.ts";

const FIRST_WAIT_MS = 1000;
const LAST_WAIT_MS = 60_000;

interface Eviction {
  worker: WorkerMetadata;
  readonly reason: Error;
  wait: number;
  until: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Workers that left the pool because of their answers, such as a refusal. Each is admitted again after a while. That
 * time doubles for a worker that is evicted again soon after.
 */
export class Evictions {
  readonly #readmit: (worker: WorkerMetadata) => void;
  readonly #evictions = new Map<string, Eviction>();

  constructor(readmit: (worker: WorkerMetadata) => void) {
    this.#readmit = readmit;
  }

  /** Whether the worker is out at the moment. */
  has(uid: string): boolean {
    return this.#evictions.get(uid)?.timer !== undefined;
  }

  /** Why workers are out at the moment. */
  reasons(): Error[] {
    return [...this.#evictions.values()].flatMap(({ timer, reason }) => (timer === undefined ? [] : [reason]));
  }

  add(worker: WorkerMetadata, reason: Error): void {
    const before = this.#evictions.get(worker.uid);
    clearTimeout(before?.timer);
    const now = performance.now();
    const isSoon = before !== undefined && now < before.until + 2 * before.wait;
    const wait = isSoon ? Math.min(2 * before.wait, LAST_WAIT_MS) : FIRST_WAIT_MS;
    const eviction: Eviction = { worker, reason, wait, until: now + wait, timer: undefined };
    eviction.timer = setTimeout(() => {
      eviction.timer = undefined;
      this.#readmit(eviction.worker);
    }, wait).unref();
    this.#evictions.set(worker.uid, eviction);
  }

  /** The metadata of a worker that is out has changed. */
  update(worker: WorkerMetadata): void {
    const eviction = this.#evictions.get(worker.uid);
    if (eviction !== undefined) eviction.worker = worker;
  }

  /** The worker has gone for good. */
  forget(uid: string): void {
    clearTimeout(this.#evictions.get(uid)?.timer);
    this.#evictions.delete(uid);
  }

  close(): void {
    for (const uid of Array.from(this.#evictions.keys())) this.forget(uid);
  }
}
