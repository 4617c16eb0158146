import { expect, test } from "vitest";
import {
  type DiscoveryEvent,
  type DiscoveryLike,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  VersionMismatch,
  type WorkerMetadata,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const add = routine(async (x: number, y: number) => x + y);

/** A discovery whose events a test decides. */
class Scripted implements DiscoveryLike {
  readonly published: WorkerMetadata[] = [];
  readonly #events: DiscoveryEvent[] = [];
  #wake: () => void = () => undefined;

  readonly publisher = {
    publish: async (_type: string, worker: WorkerMetadata): Promise<void> => void this.published.push(worker),
  };

  tell(event: DiscoveryEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  async *subscribe(): AsyncGenerator<DiscoveryEvent> {
    for (;;) {
      yield* this.#events.splice(0);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

test("a proxy whose quorum was missed tries again at the next call", async () => {
  await using worker = disposable(new LocalWorker());
  await worker.value.start();
  const discovery = new Scripted();
  await using proxy = new WorkerProxy({ discovery, quorumTimeout: 50 });
  const reason = await reasonOf(proxy.dispatch(add, 1, 2));
  expect(reason).toBeInstanceOf(NoWorkersAvailable);
  expect(String(reason)).toMatch(/0 of the 1 workers waited for were found within the quorumTimeout of 50 ms/);
  if (worker.value.metadata !== undefined) discovery.tell({ type: "worker-added", worker: worker.value.metadata });
  await until(() => proxy.workers.size === 1, "the worker was found");
  expect(await proxy.dispatch(add, 2, 2)).toBe(4);
});

test("losing the entry of a worker that the pool itself started, and that lives, changes nothing", async () => {
  const discovery = new Scripted();
  await using pool = await WorkerPool.start({ size: 1, discovery });
  expect(await pool.dispatch(add, 1, 2)).toBe(3);
  for (const worker of discovery.published) discovery.tell({ type: "worker-dropped", worker });
  const other = { ...(discovery.published[0] as WorkerMetadata), uid: "another" };
  discovery.tell({ type: "worker-added", worker: other });
  await until(() => pool.workers.has("another"), "the events have been read");
  expect(pool.workers.size).toBe(2);
  expect(await pool.dispatch(add, 2, 2)).toBe(4);
});

test("a worker that advertises an incompatible version is not tried, and named with its version", async () => {
  const worker: WorkerMetadata = {
    uid: "w-future",
    address: "127.0.0.1:1",
    pid: 0,
    version: "99.1.0",
    tags: new Set(),
    extra: {},
    secure: false,
    channel: {},
  };
  await using proxy = new WorkerProxy({ discovery: new StaticDiscovery([worker]), quorum: 0 });
  const reason = (await reasonOf(proxy.dispatch(add, 1, 2))) as NoWorkersAvailable;
  expect(reason).toBeInstanceOf(NoWorkersAvailable);
  expect(reason.errors).toEqual([expect.any(VersionMismatch)]);
  expect(reason.message).toMatch(
    /worker w-future was left out: it has version 99\.1\.0 of wool-ts.*same version on both sides/,
  );
  expect(proxy.workers.size).toBe(0);
  await using patient = new WorkerProxy({ discovery: new StaticDiscovery([worker]), quorumTimeout: 50 });
  const late = (await reasonOf(patient.dispatch(add, 1, 2))) as NoWorkersAvailable;
  expect(late.message).toMatch(
    /within the quorumTimeout of 50 ms: workers that cannot be used were found\n {2}- worker w-future was left out: .*99/,
  );
  expect(late.errors).toEqual([expect.any(VersionMismatch)]);
});

function disposable(value: LocalWorker): AsyncDisposable & { readonly value: LocalWorker } {
  return { value, [Symbol.asyncDispose]: () => value.stop() };
}
