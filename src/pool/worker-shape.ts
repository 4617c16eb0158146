import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import type { WorkerFactory, WorkerLike, WorkerOptions } from "../worker/index.ts";

const RETURNS = "it must return a worker, as (options) => new LocalWorker(options) does";

/** Has a factory make a worker. Throws `InvalidArgument` when what it makes is none, and what the factory throws. */
export function makeWorker(factory: WorkerFactory, options: WorkerOptions): WorkerLike {
  if (/^class\b/.test(Function.prototype.toString.call(factory))) {
    const name = factory.name === "" ? "Class" : factory.name;
    throw new InvalidArgument(
      `option "worker" is the class ${name}: give a function that makes one, (options) => new ${name}(options)`,
    );
  }
  const worker: unknown = factory(options);
  const problem = workerProblem(worker);
  if (problem === undefined) return worker as WorkerLike;
  throw new InvalidArgument(`option "worker" gave ${describeValue(worker)}, and ${problem}: ${RETURNS}`);
}

function workerProblem(worker: unknown): string | undefined {
  if (typeof worker !== "object" || worker === null) return "that is no object";
  if ("then" in worker) return "a promise is no worker (what takes time belongs into its start)";
  for (const method of ["start", "stop"]) {
    if (typeof Reflect.get(worker, method) !== "function") return `that has no method ${method}()`;
  }
  if (!("uid" in worker) || typeof worker.uid !== "string" || worker.uid === "") return "that has no uid";
  return undefined;
}
