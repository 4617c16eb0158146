export type { AuthorizeContext, AuthorizeLike } from "./authorize.ts";
export type { BackpressureContext, BackpressureLike } from "./backpressure.ts";
export { readToEnd, within, written } from "./output-flush.ts";
export { preload, preloadSpecifier } from "./preload.ts";
export { CONTROL_FD, type ProcessConfig, type ProcessCredentials, type ProcessReport } from "./process-config.ts";
export { ControlLines, type ProcessCommand, type ProcessWord } from "./process-control.ts";
export { receiveHook, type ShippedHook, shipHook } from "./shipped-hook.ts";
export { startTimeout, stopTimeout } from "./stop-timeout.ts";
export { TaskSlots } from "./task-slots.ts";
export { ThreadBoard } from "./thread-board.ts";
export {
  type FromThread,
  GRPC_PREFIX_BYTES,
  LARGE_MESSAGE_BYTES,
  SESSION_PREFIX_BYTES,
  type ThreadConfig,
  type ToThread,
} from "./thread-messages.ts";
