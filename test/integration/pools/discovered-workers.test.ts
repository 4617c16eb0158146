import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  currentTask,
  DiscoveryError,
  LocalDiscovery,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  TaskCancelled,
  type WorkerMetadata,
  type WorkerOptions,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { connections } from "../../support/connections.ts";
import { isRunning, killProcess, runningChildren } from "../../support/processes.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "../../support/runtime-folder.ts";
import { until } from "../../support/until.ts";
import { note, notesOf, openDoor, waitAtDoor } from "../../support/worker-notes.ts";

const NAMESPACE = "discovered";

let folder: RuntimeFolder;
let before: number[];
let discovery: LocalDiscovery;
let workers: LocalWorker[];

beforeEach(() => {
  before = runningChildren();
  folder = makeRuntimeFolder();
  for (const [name, value] of Object.entries(folder.env)) vi.stubEnv(name, value);
  discovery = new LocalDiscovery(NAMESPACE);
  workers = [];
});
afterEach(async () => {
  try {
    await Promise.all(workers.map((worker) => worker.stop()));
    await discovery.dispose();
    expect(runningChildren().filter((child) => !before.includes(child))).toEqual([]);
    expect(folder.leftovers()).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
    folder[Symbol.dispose]();
  }
});

/** Starts a worker that belongs to no pool, and announces it. */
async function announce(options: WorkerOptions = {}): Promise<WorkerMetadata> {
  const worker = new LocalWorker(options);
  workers.push(worker);
  await worker.start();
  if (worker.metadata === undefined) throw new Error("it has no metadata");
  await discovery.publisher.publish("worker-added", worker.metadata);
  return worker.metadata;
}

const pid = routine(async () => process.pid);
const nested = routine(async () => await pid());
const waitAt = routine(async (door: string) => {
  note(door, "begun");
  currentTask()?.signal.addEventListener("abort", () => note(door, "cancelled"));
  await waitAtDoor(door);
  return process.pid;
});
const open = routine(async (door: string) => openDoor(door));
const seen = routine(async (door: string) => notesOf(door));

const pidsOf = (pool: WorkerPool): number[] => [...pool.workers.values()].map((worker) => worker.pid).sort();
const other = (): LocalDiscovery => new LocalDiscovery(NAMESPACE);

describe("a durable pool", () => {
  test("starts no workers, uses those that there are, and leaves them running", async () => {
    const [first, second] = [await announce(), await announce()];
    const pool = await WorkerPool.start({ discovery: other(), quorum: 2 });
    expect(pidsOf(pool)).toEqual([first.pid, second.pid].sort());
    expect(pidsOf(pool)).toContain(await pool.dispatch(pid));
    expect(pidsOf(pool)).toContain(await pool.dispatch(nested));
    await pool.stop();
    expect([first.pid, second.pid].every(isRunning)).toBe(true);
    expect(await discovery.snapshot()).toHaveLength(2);
  });

  test("follows workers that come and go", async () => {
    const first = await announce();
    await using pool = await WorkerPool.start({ discovery: other() });
    const second = await announce();
    await until(() => pool.workers.size === 2, "the second is there");
    killProcess(first.pid);
    await until(() => pool.workers.size === 1, "the first is gone");
    expect(await pool.dispatch(pid)).toBe(second.pid);
  });

  test("uses a fixed list", async () => {
    const worker = await announce();
    await using pool = await WorkerPool.start({ discovery: new StaticDiscovery([worker.address]) });
    expect(await pool.dispatch(pid)).toBe(worker.pid);
    expect(await pool.dispatch(nested)).toBe(worker.pid);
  });

  test("that is stopped cancels its calls, and only its own", async () => {
    await announce();
    const pool = await WorkerPool.start({ discovery: other() });
    await using rest = await WorkerPool.start({ discovery: other() });
    const kept = rest.dispatch(waitAt, "kept");
    const dropped = reasonOf(pool.dispatch(waitAt, "dropped"));
    const stream = pool.dispatch(
      routine(async function* (door: string) {
        try {
          yield 1;
          yield 2;
        } finally {
          note(door, "closed");
        }
      }),
      "stream",
    );
    expect((await stream.next()).value).toBe(1);
    await until(async () => (await rest.dispatch(seen, "dropped")).length > 0, "both run");
    await pool.stop();
    const reason = await dropped;
    expect(reason).toBeInstanceOf(TaskCancelled);
    expect(reason).toMatchObject({ message: expect.stringContaining("its pool was stopped") });
    expect(await reasonOf(stream.next())).toBeInstanceOf(TaskCancelled);
    await until(async () => (await rest.dispatch(seen, "dropped")).includes("cancelled"), "the worker knows");
    await until(async () => (await rest.dispatch(seen, "stream")).includes("closed"), "the generator is closed");
    await rest.dispatch(open, "kept");
    expect(await kept).toBeGreaterThan(0);
    expect(await rest.dispatch(seen, "kept")).toEqual(["begun"]);
  });

  test("that waits for its calls does not wait for those of others", async () => {
    await announce();
    const pool = await WorkerPool.start({ discovery: other() });
    await using rest = await WorkerPool.start({ discovery: other() });
    const others = rest.dispatch(waitAt, "others");
    const own = pool.dispatch(waitAt, "own");
    await until(async () => (await rest.dispatch(seen, "own")).length > 0, "both run");
    const stopping = pool.stop({ timeout: -1 });
    await rest.dispatch(open, "own");
    await stopping;
    expect(await own).toBeGreaterThan(0);
    await rest.dispatch(open, "others");
    await others;
  });

  test("refuses at once a discovery that was disposed of, as another pool has done", async () => {
    const usedUp = new LocalDiscovery("used-up");
    const first = await WorkerPool.start({ discovery: usedUp, quorum: 0 });
    await first.stop();
    const again = WorkerPool.start({ discovery: usedUp });
    await expect(again).rejects.toThrow(DiscoveryError);
    await expect(again).rejects.toThrow('this LocalDiscovery("used-up") was disposed of');
  });

  test("lets a worker that is withdrawn finish what it has", async () => {
    const worker = await announce();
    await using pool = await WorkerPool.start({ discovery: other() });
    await using side = await WorkerPool.start({ discovery: new StaticDiscovery([worker.address]) });
    const call = pool.dispatch(waitAt, "withdrawn");
    await until(async () => (await side.dispatch(seen, "withdrawn")).length > 0, "the call is at the worker");
    await discovery.publisher.publish("worker-dropped", worker);
    await until(() => pool.workers.size === 0, "the pool knows");
    await side.dispatch(open, "withdrawn");
    expect(await call).toBe(worker.pid);
  });
});

describe("a hybrid pool", () => {
  test("starts workers, announces them to others, uses what it finds, and stops its own", async () => {
    const found = await announce();
    const pool = await WorkerPool.start({ size: 1, discovery: other(), quorum: 2 });
    const own = pidsOf(pool).filter((one) => one !== found.pid);
    expect([own.length, pidsOf(pool).length]).toEqual([1, 2]);
    const results = await pool.broadcast(pid);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "fulfilled"]);
    {
      await using guest = await WorkerPool.start({ discovery: other(), quorum: 2 });
      expect(pidsOf(guest)).toEqual(pidsOf(pool));
    }
    await pool.stop();
    expect((await discovery.snapshot()).map((worker) => worker.pid)).toEqual([found.pid]);
    expect([isRunning(found.pid), isRunning(own[0])]).toEqual([true, false]);
  });

  test("uses its own workers whatever lease and filter say", async () => {
    await announce();
    await announce();
    await using pool = await WorkerPool.start({ size: 2, discovery: other(), lease: 0, filter: () => false });
    expect(pool.workers.size).toBe(2);
    const found = (await discovery.snapshot()).map((worker) => worker.pid);
    expect(found).toHaveLength(4);
    expect(pidsOf(pool).filter((one) => workers.some((worker) => worker.metadata?.pid === one))).toEqual([]);
  });

  test("mixes its own workers with a list, which nobody can announce to", async () => {
    const listed = await announce({ tags: ["listed"] });
    await using pool = await WorkerPool.start({ size: 2, discovery: new StaticDiscovery([listed.address]), quorum: 3 });
    expect(pool.workers.get(listed.uid)?.tags).toEqual(new Set(["listed"]));
    const answers = await pool.broadcast(pid);
    expect(answers.map((answer) => answer.status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(answers.find(({ uid }) => uid === listed.uid)).toMatchObject({ value: listed.pid });
    expect(new Set(await Promise.all(Array.from({ length: 30 }, () => nested()))).size).toBeGreaterThan(0);
  });
});

describe("what a pool uses of what it finds", () => {
  test("lease: no more than that many, and another when one of them goes", async () => {
    for (let i = 0; i < 3; i++) await announce();
    await using pool = await WorkerPool.start({ discovery: other(), lease: 2, quorum: 2 });
    const [first, second] = pidsOf(pool);
    expect(pool.workers.size).toBe(2);
    killProcess(first);
    await until(() => pool.workers.size === 2 && !pidsOf(pool).includes(first ?? 0), "another takes its place");
    expect(pidsOf(pool)).toContain(second);
    expect(pidsOf(pool)).toContain(await pool.dispatch(pid));
  });

  test("lease: beyond the workers it has started itself", async () => {
    for (let i = 0; i < 2; i++) await announce();
    await using pool = await WorkerPool.start({ size: 1, discovery: other(), lease: 1, quorum: 2 });
    const found = workers.map((worker) => worker.metadata?.pid);
    expect(pool.workers.size).toBe(2);
    expect(pidsOf(pool).filter((one) => found.includes(one))).toHaveLength(1);
  });

  test("tags and filter: those with any of the tags that pass the filter", async () => {
    const [a, b] = [await announce({ tags: ["a", "x"] }), await announce({ tags: ["b"], extra: { zone: "1" } })];
    await announce({ tags: ["c"] });
    await announce();
    await using pool = await WorkerPool.start({ discovery: other(), tags: ["a", "b"], quorum: 2 });
    expect(pidsOf(pool)).toEqual([a.pid, b.pid].sort());
    const filter = ({ extra }: WorkerMetadata): boolean => extra["zone"] === "1";
    await using picky = await WorkerPool.start({ discovery: other(), tags: ["a", "b"], filter });
    expect(pidsOf(picky)).toEqual([b.pid]);
  });

  test("quorum: waits for that many", async () => {
    await announce();
    const starting = WorkerPool.start({ discovery: other(), quorum: 2 });
    const second = await announce();
    await using pool = await starting;
    expect(pidsOf(pool)).toContain(second.pid);
  });

  test("quorumTimeout: gives up after that time, and leaves nothing", async () => {
    await announce();
    const error = await reasonOf(WorkerPool.start({ discovery: other(), quorum: 2, quorumTimeout: 50 }));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect(error).toMatchObject({
      message: expect.stringContaining("1 of the 2 workers waited for were found within"),
    });
    await using pool = await WorkerPool.start({
      discovery: other(),
      quorum: 1,
      quorumTimeout: Number.POSITIVE_INFINITY,
    });
    expect(pool.workers.size).toBe(1);
  });

  test("quorum 0: starts with nobody, and calls say so until somebody is there", async () => {
    await using pool = await WorkerPool.start({ discovery: other(), quorum: 0 });
    expect(await reasonOf(pool.dispatch(pid))).toBeInstanceOf(NoWorkersAvailable);
    const worker = await announce();
    await until(() => pool.workers.size === 1, "it is found");
    expect(await pool.dispatch(pid)).toBe(worker.pid);
  });

  test.each([
    ["pool", true],
    ["pool", false],
    ["proxy", true],
    ["proxy", false],
  ])("a %s with lazy %s: connects at the first call, or at the start", async (kind, lazy) => {
    const worker = await announce({ host: "127.0.0.1" });
    const port = Number(worker.address.split(":")[1]);
    const options = { discovery: other(), lazy };
    await using carrier = kind === "pool" ? await WorkerPool.start(options) : new WorkerProxy(options);
    if (carrier instanceof WorkerProxy) await carrier.start();
    if (!lazy) await until(() => connections(port) === 1, "it is connected to");
    expect(connections(port)).toBe(lazy ? 0 : 1);
    await carrier.dispatch(pid);
    expect(connections(port)).toBe(1);
  });
});
