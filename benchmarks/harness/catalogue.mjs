import { points as abortedBurst } from "../dispatch/aborted-burst.mjs";
import { points as cpuTasks } from "../dispatch/cpu-tasks.mjs";
import { points as listeners } from "../dispatch/listeners.mjs";
import { points as map } from "../dispatch/map.mjs";
import { points as objectEcho } from "../dispatch/object-echo.mjs";
import { points as trivialCall } from "../dispatch/trivial-call.mjs";
import { points as captures } from "../functions/captures.mjs";
import { points as shippedCalls } from "../functions/shipped-calls.mjs";
import { points as bytesEcho } from "../payload/bytes-echo.mjs";
import { points as shared } from "../payload/shared.mjs";
import { points as firstResult } from "../startup/first-result.mjs";
import { points as idleMemory } from "../startup/idle-memory.mjs";
import { points as workerReady } from "../startup/worker-ready.mjs";
import { points as items } from "../streams/items.mjs";

/** All points, in the order in which they are run. See the README for what a point is. */
export const catalogue = [
  ...trivialCall,
  ...listeners,
  ...objectEcho,
  ...cpuTasks,
  ...abortedBurst,
  ...map,
  ...items,
  ...bytesEcho,
  ...shared,
  ...shippedCalls,
  ...captures,
  ...firstResult,
  ...workerReady,
  ...idleMemory,
];

export function findPoint(name) {
  const point = catalogue.find((candidate) => candidate.name === name);
  if (point === undefined) throw new Error(`there is no point ${name}`);
  return point;
}
