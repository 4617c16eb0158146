export { type AttemptListener, Call, type CallExtras, type CallOwner, type Scope, type WaitingPlace } from "./call.ts";
export { taskId } from "./caller-id.ts";
export { acquireLink, releaseLink } from "./link-cache.ts";
export { closeSignals, type LiveSignal, openSignals, takeArrivedSignals } from "./live-signals.ts";
export { fromCaller, placed, RemoteFailure, throwAtCallSite } from "./remote-failure.ts";
export { RemoteGenerator } from "./remote-generator.ts";
export type { Session } from "./session.ts";
export type { LinkListener, WorkerLink } from "./worker-link.ts";
