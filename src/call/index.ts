export { Call, nextSequence, taskId } from "./call.ts";
export { CallGroup } from "./call-group.ts";
export { limitCall } from "./call-limits.ts";
export { CallPack, callsPerPack, MOST_PACK_BYTES, type PackSink } from "./call-pack.ts";
export type {
  CallEnd,
  CallExtras,
  CallOwner,
  CallWatcher,
  PoolReference,
  Recipient,
  Tally,
} from "./call-parties.ts";
export { closeSignals, followSignals, type LiveSignal, openSignals, takeArrivedSignals } from "./live-signals.ts";
export { packCalls } from "./pack-calls.ts";
export { errorOf, fromCaller, placed, type Reject, rejectAtCallSite } from "./remote-failure.ts";
export { RemoteGenerator } from "./remote-generator.ts";
export type { EarlyValue, RemoteTask } from "./remote-task.ts";
