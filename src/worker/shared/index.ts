export { ConcurrencyPermits } from "./concurrency-permits.ts";
export {
  CONTROL_FD,
  ControlLines,
  type ProcessCommand,
  type ProcessConfig,
  type ProcessCredentials,
  type ProcessReport,
  type ProcessWord,
  type ThreadStart,
} from "./control-pipe.ts";
export type { AuthorizeContext, AuthorizeLike, BackpressureContext, BackpressureLike } from "./hooks.ts";
export { receiveValue, type ShippedValue, shipHook, shipThrown } from "./hooks.ts";
export { readToEnd, within, written } from "./output-flush.ts";
export { importModule, preload, preloadSpecifier } from "./preload.ts";
export type { KeptShare, ShareNotice, ShareOrder } from "./share-messages.ts";
export { startTimeout, stopTimeout } from "./stop-timeout.ts";
export { type TaskOfSession, ThreadBoard } from "./thread-board.ts";
export { THREAD_CONDITION } from "./thread-condition.ts";
export {
  type FromThread,
  messageWeight,
  SENT_REPORT_BYTES,
  SESSION_PREFIX_BYTES,
  type ThreadConfig,
  type ThreadConfiguration,
  type ToThread,
} from "./thread-messages.ts";
export { UnfinishedPayloads, unfinishedMemory } from "./unfinished-payloads.ts";
export { completeLimits, LIMIT_CHECKS, type WorkerLimits } from "./worker-limits.ts";
