import {
  type BroadcastResult,
  ContextVar,
  currentTask,
  type DiscoveryLike,
  type Factory,
  LocalDiscovery,
  type MapOptions,
  type PoolStats,
  type Progress,
  routine,
  runtimeContext,
  type Task,
  WorkerConnection,
  type WorkerMetadata,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { type Equal, type Expect, expectType, type IsAny } from "./expect-type.ts";

declare const pool: WorkerPool;
declare const proxy: WorkerProxy;
declare const connection: WorkerConnection;

interface User {
  readonly id: number;
}

const load = routine(async (id: number): Promise<User> => ({ id }));
const add = routine(async (x: number, y: number) => x + y);
const first = routine(async <T>(items: readonly T[]): Promise<T | undefined> => items[0]);
const echo = routine(async function* (start: number): AsyncGenerator<number, string, boolean> {
  const sent: boolean = yield start;
  return String(sent);
});

expectType<Promise<WorkerPool>>()(WorkerPool.start());
expectType<Promise<WorkerPool>>()(WorkerPool.start({ size: 2, tags: ["gpu"], workerOptions: { threads: 2 } }));
// @ts-expect-error -- a size is a number
void WorkerPool.start({ size: "2" });
// @ts-expect-error -- there is no such option
void WorkerPool.start({ sise: 2 });
// @ts-expect-error -- there is no such worker option
void WorkerPool.start({ workerOptions: { hots: "localhost" } });
// @ts-expect-error -- pools are started, not constructed
new WorkerPool({});

// Everything long-lived is disposable.
export const disposables: AsyncDisposable[] = [pool, proxy, connection];

// dispatch has the result of the call, on whatever carries it.
expectType<Promise<User>>()(pool.dispatch(load, 1));
expectType<Promise<number>>()(pool.dispatch(add, 1, 2));
expectType<AsyncGenerator<number, string, boolean>>()(pool.dispatch(echo, 1));
expectType<Promise<User>>()(pool.dispatch(load.with({ timeout: 5 }), 1));
expectType<Promise<User>>()(proxy.dispatch(load, 1));
expectType<AsyncGenerator<number, string, boolean>>()(proxy.dispatch(echo, 1));
expectType<Promise<User>>()(connection.dispatch(load, 1));
expectType<Promise<string | undefined>>()(pool.dispatch(first<string>, ["a"]));
// @ts-expect-error -- an argument is of the wrong type
void pool.dispatch(load, "1");
// @ts-expect-error -- an argument is missing
void pool.dispatch(add, 1);
// @ts-expect-error -- there is one argument too many
void pool.dispatch(load, 1, 2);
// @ts-expect-error -- not a routine
void pool.dispatch("load", 1);

// run returns what its function returns.
expectType<number>()(pool.run(() => 5));
expectType<Promise<User>>()(pool.run(() => load(1)));
expectType<Promise<string>>()(proxy.run(async () => "a"));

// map takes the items of its routine, from any source.
expectType<AsyncIterable<User>>()(pool.map(load, [1, 2]));
expectType<AsyncIterable<User>>()(pool.map(load, new Set([1])));
async function* ids(): AsyncGenerator<number> {
  yield 1;
}
expectType<AsyncIterable<User>>()(pool.map(load, ids(), { concurrency: 2, ordered: false, stopOnError: false }));
pool.map(load, [1], {
  onProgress: (progress) => {
    expectType<Progress>()(progress);
    expectType<number>()(progress.done);
    expectType<number | undefined>()(progress.total);
  },
});
// @ts-expect-error -- the items are of the wrong type
pool.map(load, ["1"]);
// @ts-expect-error -- the routine takes two arguments
pool.map(add, [1]);
// @ts-expect-error -- a generator gives no single result
pool.map(echo, [1]);
// @ts-expect-error -- there is no such option
pool.map(load, [1], { concurency: 1 });
export const mapOptions: MapOptions = { concurrency: 1, signal: new AbortController().signal, timeout: 5 };

// broadcast tells what became of each worker.
export async function broadcast(): Promise<void> {
  const results = await pool.broadcast(load, 1);
  expectType<BroadcastResult<User>[]>()(results);
  for (const result of results) {
    expectType<string>()(result.uid);
    if (result.status === "fulfilled") expectType<User>()(result.value);
    else expectType<unknown>()(result.reason);
  }
}
// @ts-expect-error -- an argument is of the wrong type
void pool.broadcast(load, "1");

// Views are read-only.
expectType<ReadonlyMap<string, WorkerMetadata>>()(pool.workers);
// @ts-expect-error -- the view cannot be changed
pool.workers.clear();
const stats: PoolStats = pool.stats();
expectType<number>()(stats.inFlight);
expectType<number | undefined>()(stats.workers["w"]?.done);
expectType<Promise<number>>()(connection.idleTime());
expectType<Promise<void>>()(pool.stop({ timeout: 5 }));

// A call can go through a pool or a proxy.
load.with({ pool });
load.with({ pool: proxy });

// A factory is an instance, a promise, or a function of either.
export const factories: Factory<DiscoveryLike>[] = [
  new LocalDiscovery("a"),
  Promise.resolve(new LocalDiscovery("a")),
  () => new LocalDiscovery("a"),
  async () => new LocalDiscovery("a"),
];
new WorkerProxy({ namespace: "a" });
new WorkerProxy({ workers: ["127.0.0.1:1", ...pool.workers.values()] });
// @ts-expect-error -- a number is no worker
new WorkerProxy({ workers: [1] });
// @ts-expect-error -- a number is no worker
new WorkerConnection(1);

// Context variables are of one type.
const user = new ContextVar<string>("user", { default: "nobody" });
expectType<string>()(user.get());
expectType<Promise<User>>()(user.run("ada", () => load(1)));
expectType<number>()(user.run("ada", () => 1));
// @ts-expect-error -- the value is of the wrong type
user.run(1, () => 1);
// @ts-expect-error -- the default is of the wrong type
new ContextVar<string>("user", { default: 1 });
const inferred = new ContextVar("limit", { default: 5 });
expectType<number>()(inferred.get());

expectType<boolean>()(runtimeContext.run({ dispatchTimeout: 5, signal: AbortSignal.abort() }, () => true));
// @ts-expect-error -- there is no such option
runtimeContext.run({ timeout: 5 }, () => true);

expectType<Task | undefined>()(currentTask());
declare const task: Task;
expectType<string>()(task.id);
expectType<string | undefined>()(task.caller);
expectType<AbortSignal>()(task.signal);
expectType<unknown>()(task.exception);
export type TaskIsTyped = Expect<Equal<IsAny<Task["exception"]>, false>>;
