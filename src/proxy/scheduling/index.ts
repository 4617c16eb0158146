export { directOwner, sendDirectly } from "./direct-calls.ts";
export { endCall } from "./fail-call.ts";
export { Scheduler } from "./scheduler.ts";
