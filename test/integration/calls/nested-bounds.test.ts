import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  ConsistentHashLoadBalancer,
  currentTask,
  type DiscoveryLike,
  type DispatchableTask,
  type DispatchingLoadBalancerLike,
  type DispatchOptions,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  LocalDiscovery,
  LocalWorker,
  NoWorkersAvailable,
  PoolSaturated,
  type ResultStream,
  routine,
  SerializationError,
  StaticDiscovery,
  type TaskInfo,
  type WorkerMetadata,
  WorkerPool,
} from "wool-ts";
import { TestAuthority } from "../../support/certificates.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { takeAWhile } from "../../support/take-a-while.ts";
import { until } from "../../support/until.ts";

/** Two levels below the caller: a task that calls a task that calls `where`, `amount` times. */
const where = routine(async () => {
  takeAWhile();
  return currentTask()?.worker;
});
const below = routine(
  async (amount: number): Promise<(string | undefined)[]> => Promise.all(Array.from({ length: amount }, () => where())),
);
const twoBelow = routine(async (amount: number): Promise<(string | undefined)[]> => below(amount));

const namespace = `nested-bounds-${process.pid}`;
const announced = new LocalDiscovery(namespace);
/** A pool disposes of the discovery that it was given. */
const discovery = () => new LocalDiscovery(namespace);
const workers: LocalWorker[] = [];

async function startWorker(...tags: string[]): Promise<LocalWorker> {
  const worker = new LocalWorker({ tags });
  await worker.start();
  workers.push(worker);
  await announce("worker-added", worker);
  return worker;
}

async function announce(type: "worker-added" | "worker-dropped", { metadata }: LocalWorker): Promise<void> {
  if (metadata !== undefined) await announced.publisher.publish(type, metadata);
}

async function seenBelow(pool: WorkerPool, amount = 40): Promise<Set<string | undefined>> {
  return new Set(await pool.dispatch(twoBelow, amount));
}

let gpus: string[];
let cpus: string[];

beforeAll(async () => {
  const [a, b, c, d] = await Promise.all(["gpu", "gpu", "cpu", "cpu"].map((tag) => startWorker(tag)));
  gpus = [a?.uid ?? "", b?.uid ?? ""];
  cpus = [c?.uid ?? "", d?.uid ?? ""];
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => announce("worker-dropped", worker)));
  await Promise.all(workers.map((worker) => worker.stop()));
  await announced[Symbol.asyncDispose]();
});

describe("calls made inside of tasks", () => {
  test("stay with workers of the pool's tags, two levels deep", async () => {
    await using pool = await WorkerPool.start({ discovery, tags: ["gpu"], quorum: 2 });
    expect(await seenBelow(pool)).toEqual(new Set(gpus));
  });

  test("stay with workers that the pool's filter lets in, also when the discovery ignores it", async () => {
    const careless: DiscoveryLike = { subscribe: () => announced.subscribe() };
    const filter = ({ uid }: WorkerMetadata): boolean => uid === cpus[0];
    await using pool = await WorkerPool.start({ discovery: careless, filter });
    await until(() => pool.workers.size > 0, "the worker was found");
    expect([...pool.workers.keys()]).toEqual([cpus[0]]);
    expect(await seenBelow(pool)).toEqual(new Set([cpus[0]]));
  });

  test("stay with the workers that the pool has leased", async () => {
    await using pool = await WorkerPool.start({ discovery, lease: 2, quorum: 2 });
    const seen = await seenBelow(pool);
    expect(seen.size).toBeLessThanOrEqual(2);
    for (const uid of seen) expect([...pool.workers.keys()]).toContain(uid);
  });

  test("of a hybrid pool go to its own workers and to those that it found", async () => {
    await using pool = await WorkerPool.start({ discovery, size: 1, tags: ["cpu"], quorum: 3 });
    await until(() => pool.workers.size === 3, "its own worker and two others");
    expect(await seenBelow(pool, 200)).toEqual(new Set(pool.workers.keys()));
  });

  test("follow workers that come and go while the task runs", async () => {
    const tag = "changing";
    const first = await startWorker(tag);
    await using pool = await WorkerPool.start({ discovery, tags: [tag] });
    const watch = routine(async function* () {
      for (;;) yield new Set(await twoBelow(30));
    });
    const seen = pool.dispatch(watch);
    const next = async (): Promise<Set<string | undefined>> => {
      const step = await seen.next();
      return step.done === true ? new Set() : step.value;
    };
    expect(await next()).toEqual(new Set([first.uid]));
    const second = await startWorker(tag);
    let last = new Set<string | undefined>();
    await until(async () => (last = await next()).has(second.uid), "the new worker is used");
    await announce("worker-dropped", second);
    await until(async () => !(last = await next()).has(second.uid), "the worker that left is not used");
    expect(last).toEqual(new Set([first.uid]));
    await seen.return(undefined as never);
  });

  test("use the pool's balancer, with their keys", async () => {
    await using pool = await WorkerPool.start({
      discovery,
      tags: ["gpu", "cpu"],
      loadBalancer: new ConsistentHashLoadBalancer(),
      quorum: 4,
    });
    const ownersBelow = routine(async (keys: readonly string[]) =>
      Promise.all(keys.map((key) => where.with({ key })())),
    );
    const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`);
    const here = await Promise.all(keys.map((key) => pool.dispatch(where.with({ key }))));
    expect(await pool.dispatch(ownersBelow, keys)).toEqual(here);
    expect(new Set(here).size).toBeGreaterThan(1);
  });

  test("use a balancer of the user's own, which travels as code", async () => {
    const chosen = cpus[1] ?? "";
    class Chooser implements LoadBalancerLike {
      readonly #uid: string;
      constructor(uid: string) {
        this.#uid = uid;
      }
      *delegate(task: TaskInfo, { workers: known }: LoadBalancerContextView): Iterable<string> {
        if (task.caller !== undefined && known.has(this.#uid)) yield this.#uid;
        else yield* known.keys();
      }
    }
    await using pool = await WorkerPool.start({ discovery, loadBalancer: new Chooser(chosen), quorum: 4 });
    expect(await seenBelow(pool)).toEqual(new Set([chosen]));
  });

  test("use a balancer of the user's own that dispatches by itself", async () => {
    const chosen = gpus[0] ?? "";
    class Dispatcher implements DispatchingLoadBalancerLike {
      readonly #uid: string;
      constructor(uid: string) {
        this.#uid = uid;
      }
      async dispatch(task: DispatchableTask, { context }: DispatchOptions): Promise<ResultStream> {
        const [first = ""] = context.workers.keys();
        return await task.sendTo(task.caller === undefined ? first : this.#uid);
      }
    }
    await using pool = await WorkerPool.start({ discovery, loadBalancer: new Dispatcher(chosen), quorum: 4 });
    expect(await seenBelow(pool)).toEqual(new Set([chosen]));
  });

  test("stay with the workers that have the pool's kind of security, whatever a discovery says", async () => {
    const authority = new TestAuthority();
    const credentials = authority.worker();
    await using secure = await WorkerPool.start({ size: 2, credentials });
    const members = [...secure.workers.values()];
    // Workers without TLS that pretend to have it, and those that say that they have none.
    const strangers = workers.flatMap(({ metadata }) => (metadata === undefined ? [] : [metadata]));
    const careless = new StaticDiscovery([
      ...members,
      ...strangers.slice(0, 1).map((each) => ({ ...each, secure: true })),
      ...strangers.slice(1),
    ]);
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    await using pool = await WorkerPool.start({ discovery: careless, credentials, quorum: 3 });
    const seen = await seenBelow(pool);
    expect(warn.mock.calls.every(([text]) => String(text).includes("TLS"))).toBe(true);
    warn.mockRestore();
    for (const uid of seen) expect(members.map((member) => member.uid)).toContain(uid);
  });

  test("ask for tags at every level, also in streams", async () => {
    await using pool = await WorkerPool.start({ discovery, tags: ["gpu", "cpu"], quorum: 4 });
    const onGpu = where.with({ needs: ["gpu"] });
    const onCpu = below.with({ needs: ["cpu"] });
    const levels = routine(async function* () {
      for (let i = 0; i < 5; i++) yield [await onGpu(), (await onCpu(1))[0]] as const;
    });
    for await (const [direct] of pool.dispatch(levels)) expect(gpus).toContain(direct);
    const twice = routine(async () => await onlyGpuBelow.with({ needs: ["cpu"] })(20));
    const onlyGpuBelow = routine(async (amount: number) => [
      currentTask()?.worker,
      ...(await Promise.all(Array.from({ length: amount }, () => onGpu()))),
    ]);
    const [at, ...inner] = await pool.dispatch(twice);
    expect(cpus).toContain(at);
    expect(new Set(inner)).toEqual(new Set(gpus));
  });

  test("of a durable pool with a filter follow workers whose tags change", async () => {
    const changing = await startWorker("may-change");
    const stays = await startWorker("may-change", "stays");
    const filter = ({ tags }: WorkerMetadata): boolean => !tags.has("retired");
    await using pool = await WorkerPool.start({ discovery, tags: ["may-change"], filter, quorum: 2 });
    expect(await seenBelow(pool, 100)).toEqual(new Set([changing.uid, stays.uid]));
    const { metadata } = changing;
    if (metadata === undefined) throw new Error("it was not started");
    const retired = { ...metadata, tags: new Set([...metadata.tags, "retired"]) };
    await announced.publisher.publish("worker-updated", retired);
    await until(() => pool.workers.size === 1, "the pool knows");
    await until(async () => (await seenBelow(pool, 100)).size === 1, "so do its workers");
    expect(await seenBelow(pool, 100)).toEqual(new Set([stays.uid]));
    await announced.publisher.publish("worker-updated", metadata);
    await until(async () => (await seenBelow(pool, 100)).size === 2, "it is used again");
  });

  test("fail with the reason when the balancer cannot travel; others do not need it to", async () => {
    const socket = new (await import("node:net")).Socket();
    const loadBalancer: LoadBalancerLike = {
      delegate: (_task, { workers: known }) => (socket.destroyed ? [] : known.keys()),
    };
    await using pool = await WorkerPool.start({ discovery, tags: ["gpu", "cpu"], loadBalancer });
    expect(gpus.concat(cpus)).toContain(await pool.dispatch(where));
    const reason = await reasonOf(pool.dispatch(below, 1));
    expect(reason).toBeInstanceOf(SerializationError);
    expect(String(reason)).toMatch(/load balancer of their pool.*cannot travel.*Socket/s);
    socket.destroy();
  });

  test("are bounded by the pool's maxPending", async () => {
    await using pool = await WorkerPool.start({ size: 1, maxPending: 5, workerOptions: { maxConcurrency: 1 } });
    const block = routine(async () => {
      const end = Date.now() + 200;
      while (Date.now() < end);
    });
    const many = routine(async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 400 }, () => block.with({ timeout: 5000 })()));
      return outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []))[0]?.name;
    });
    expect(await pool.dispatch(many)).toBe(PoolSaturated.name);
  });
});

describe("a call that needs tags", () => {
  test("goes only to workers that have all of them, from the caller and from tasks", async () => {
    await using pool = await WorkerPool.start({ discovery, tags: ["gpu", "cpu"], quorum: 4 });
    const onGpu = where.with({ needs: ["gpu"] });
    const here = await Promise.all(Array.from({ length: 60 }, () => pool.dispatch(onGpu)));
    expect(new Set(here)).toEqual(new Set(gpus));
    const onCpu = routine(async () => where.local(), { needs: ["cpu"] });
    const nested = routine(async () => Promise.all(Array.from({ length: 60 }, () => onCpu())));
    expect(new Set(await pool.dispatch(nested))).toEqual(new Set(cpus));
    const mapped = new Set<string | undefined>();
    const item = routine(async (number: number) => {
      takeAWhile();
      return number < 0 ? "" : currentTask()?.worker;
    });
    for await (const uid of pool.map(item, Array(60).keys(), { needs: ["gpu"] })) mapped.add(uid);
    expect(mapped).toEqual(new Set(gpus));
    const everywhere = await pool.broadcast(onCpu);
    expect(new Set(everywhere.map(({ uid }) => uid))).toEqual(new Set(cpus));
  });

  test("which nobody has fails at once, and names those asked for and those there are", async () => {
    await using pool = await WorkerPool.start({ discovery, tags: ["gpu", "cpu"], quorum: 4 });
    const impossible = routine(async () => 1, { name: "impossible", needs: ["gpu", "cpu"] });
    const nested = routine(async () => impossible());
    for (const call of [() => pool.dispatch(impossible), () => pool.dispatch(nested)]) {
      const reason = await reasonOf(call());
      expect(reason).toBeInstanceOf(NoWorkersAvailable);
      expect(String(reason)).toMatch(
        /impossible needs the tags "gpu", "cpu", and the 4 workers of the pool have only the tags "cpu", "gpu", and none has all/,
      );
    }
    const mapped = pool.map(impossible, [undefined as never]);
    expect(await reasonOf(mapped[Symbol.asyncIterator]().next())).toBeInstanceOf(NoWorkersAvailable);
  });

  test("is refused when they are no list of texts", async () => {
    await expect(async () => where.with({ needs: "gpu" as never })).rejects.toThrow(
      'option "needs" must be an array of strings, not "gpu"',
    );
  });
});
