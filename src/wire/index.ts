export { BatchWriter } from "./batch-writer.ts";
export { ChunkAssembly } from "./chunk-assembly.ts";
export {
  encodeDescribeResponse,
  encodeIdleResponse,
  encodeStopRequest,
  readDescribeResponse,
  readIdleResponse,
  readStopRequest,
} from "./control-messages.ts";
export { ReceivedDependencies, SentDependencies } from "./dependency-ledger.ts";
export { LAST_REQUEST_FIELD, LAST_RESPONSE_FIELD, RequestField, ResponseField, StepKind } from "./fields.ts";
export { FrameReader, MalformedFrame } from "./frame-reader.ts";
export { writePayloadFrame } from "./frame-writer.ts";
export { FILE_FROM_BYTES, FILE_LIMIT_BYTES, INLINE_LIMIT_BYTES, type MessageSink, Outbox } from "./outbox.ts";
export {
  AbortField,
  CancelField,
  ChunkField,
  CreditField,
  HelloField,
  type PayloadPlace,
  RouteField,
  ScopeField,
  StepField,
  TaskField,
  writeAbort,
  writeCancel,
  writeCredit,
  writeHello,
  writePlainTask,
  writeRoute,
  writeScope,
  writeStep,
  writeTask,
} from "./request-frames.ts";
export {
  LOST_REASON,
  OutcomeField,
  type OutcomeFrame,
  PACE_TASK_US,
  RejectedField,
  type Welcome,
  WelcomeField,
  writeAccepted,
  writeExecutorLost,
  writeOutcome,
  writePace,
  writeRejected,
  writeWelcome,
} from "./response-frames.ts";
export { MINIMUM_PROTOCOL_VERSION, PACKAGE_VERSION, PROTOCOL_VERSION, versionConflict } from "./version.ts";
