import {
  ConsistentHashLoadBalancer,
  type DispatchableTask,
  type DispatchingLoadBalancerLike,
  type DispatchOptions,
  type DispatchOutcome,
  type Factory,
  LeastLoadedLoadBalancer,
  LoadBalancerContext,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  PowerOfTwoLoadBalancer,
  type ResultStream,
  RoundRobinLoadBalancer,
  type TaskInfo,
  type WorkerMetadata,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { expectType } from "./expect-type.ts";

// Those of the package are balancers, and take their options.
export const balancers: LoadBalancerLike[] = [
  new RoundRobinLoadBalancer(),
  new LeastLoadedLoadBalancer(),
  new PowerOfTwoLoadBalancer(),
  new PowerOfTwoLoadBalancer({ random: () => 0.5 }),
  new ConsistentHashLoadBalancer(),
  new ConsistentHashLoadBalancer({ points: 16 }),
];
// @ts-expect-error -- a number is no source of numbers
new PowerOfTwoLoadBalancer({ random: 0.5 });
// @ts-expect-error -- there is no such option
new ConsistentHashLoadBalancer({ replicas: 16 });

// One of one's own yields uids, in any way that can be iterated; its parameters need no types.
export const own: LoadBalancerLike[] = [
  { delegate: (_task, context) => context.workers.keys() },
  { delegate: (_task, context) => [...context.workers.keys()] },
  {
    *delegate(task, context) {
      expectType<TaskInfo>()(task);
      expectType<LoadBalancerContextView>()(context);
      expectType<string | undefined>()(task.key);
      expectType<number>()(context.version);
      yield* context.workers.keys();
    },
  },
  {
    async *delegate(_task, { workers }) {
      for (const [uid, worker] of workers) {
        expectType<WorkerMetadata>()(worker);
        yield uid;
      }
    },
    settled: (uid, outcome) => {
      expectType<string>()(uid);
      expectType<"done" | "failed" | "rejected" | "lost" | "cancelled">()(outcome.status);
    },
    waits: (task) => task.key !== undefined,
    levels: false,
  },
  { delegate: () => [], settled: (_uid, _outcome, context) => expectType<LoadBalancerContextView>()(context) },
];
// @ts-expect-error -- uids are strings
export const numbers: LoadBalancerLike = { delegate: () => [1] };
// @ts-expect-error -- a promise of a list is no iterable
export const promised: LoadBalancerLike = { delegate: async () => ["a"] };
// @ts-expect-error -- the view cannot be changed
export const meddling: LoadBalancerLike = { delegate: (_task, context) => [context.workers.clear()] };

// One that dispatches itself returns what sendTo gave.
export const dispatching: DispatchingLoadBalancerLike = {
  async dispatch(task, options) {
    expectType<DispatchableTask>()(task);
    expectType<DispatchOptions>()(options);
    expectType<number | undefined>()(options.timeout);
    const [uid = ""] = options.context.workers.keys();
    const results = await task.sendTo(uid, { timeout: 5 });
    expectType<ResultStream>()(results);
    expectType<Promise<DispatchOutcome>>()(results.ended);
    return results;
  },
};
export const forgetful: DispatchingLoadBalancerLike = {
  // @ts-expect-error -- the results are not returned
  async dispatch(task) {
    await task.sendTo("a");
  },
};
// @ts-expect-error -- the stream of results is not made by the balancer
export const forging: DispatchingLoadBalancerLike = { dispatch: async () => "results" };

// Pools and proxies take either, in every form of a factory.
export const factories: Factory<LoadBalancerLike | DispatchingLoadBalancerLike>[] = [
  new RoundRobinLoadBalancer(),
  dispatching,
  Promise.resolve(dispatching),
  () => new RoundRobinLoadBalancer(),
  async () => dispatching,
];
void WorkerPool.start({ loadBalancer: dispatching });
void WorkerPool.start({ loadBalancer: async () => new RoundRobinLoadBalancer() });
void WorkerPool.start({ loadBalancer: { delegate: (_task, context) => context.workers.keys() } });
new WorkerProxy({ namespace: "a", loadBalancer: () => dispatching });
// @ts-expect-error -- neither kind of balancer
void WorkerPool.start({ loadBalancer: { choose: () => "a" } });

// A context is made for tests.
const context = new LoadBalancerContext((uid) => uid.length);
declare const worker: WorkerMetadata;
context.add(worker);
context.update(worker);
context.remove(worker.uid);
expectType<ReadonlyMap<string, WorkerMetadata>>()(context.workers);
expectType<Iterable<string>>()(
  new RoundRobinLoadBalancer().delegate(
    { sequence: 1, name: "a", key: undefined, needs: [], kind: "call", caller: undefined, bytes: 0 },
    context,
  ),
);
