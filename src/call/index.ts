export { beforeEnd } from "./before-end.ts";
export {
  type AttemptListener,
  Call,
  type CallExtras,
  type CallOwner,
  type CallSession,
  type Scope,
  type StreamSink,
  type Tally,
  taskId,
  type WaitingPlace,
} from "./call.ts";
export { controlCall } from "./call-limits.ts";
export { watchSignals } from "./call-signals.ts";
export { closeSignals, type LiveSignal, openSignals, takeArrivedSignals } from "./live-signals.ts";
export { fromCaller, placed, RemoteFailure, throwAtCallSite } from "./remote-failure.ts";
