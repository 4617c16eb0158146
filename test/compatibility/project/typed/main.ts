// The same program for every way to compile: it infers its types from those of the package.
import {
  type CallOptions,
  ContextVar,
  currentTask,
  type LoadBalancerLike,
  RoundRobinLoadBalancer,
  routine,
  WorkerPool,
} from "wool-ts";

const user = new ContextVar<string>("user", { default: "nobody" });
const add = routine(async (x: number, y: number) => [x + y, user.get()] as const);
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
});
const options: CallOptions = { timeout: 60_000 };
const loadBalancer: LoadBalancerLike = new RoundRobinLoadBalancer();
const seen: number[] = [];

async function main(): Promise<void> {
  const pool = await WorkerPool.start({ size: 1, loadBalancer });
  const [sum, who] = await user.run("ada", () => add.with(options)(1, 2));
  for await (const n of count(3)) seen.push(n);
  const task = currentTask();
  console.log(sum, who, seen.join(), task === undefined);
  await pool.stop();
}

void main();
