import type { TaskInfo } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";

/** What balancers are told of a call. */
export function taskInfo(call: Call): TaskInfo {
  return { sequence: call.sequence, name: call.route.name, key: call.extras?.key };
}
