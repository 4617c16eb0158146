export { BatchWriter } from "./batch-writer.ts";
export {
  type CallerLimits,
  type CompleteLimits,
  type ConnectionLimits,
  DEFAULT_LIMITS,
  LimitExceeded,
  MEMORY_BYTES,
} from "./connection-limits.ts";
export {
  encodeDescribeResponse,
  encodeIdleResponse,
  encodeStopRequest,
  readDescribeResponse,
  readIdleResponse,
  readStopRequest,
} from "./control-messages.ts";
export { type AnnouncedValue, ReceivedDependencies, SentDependencies } from "./dependency-ledger.ts";
export { LAST_REQUEST_FIELD, LAST_RESPONSE_FIELD, RequestField, ResponseField, StepKind } from "./fields.ts";
export { FrameReader, MalformedFrame } from "./frame-reader.ts";
export { IncomingPayloads } from "./incoming-payloads.ts";
export { INLINE_LIMIT_BYTES, LEAST_MESSAGE_BYTES, type MessageSink, Outbox } from "./outbox.ts";
export {
  type OpenPayload,
  Payload,
  type PayloadPlace,
  type PayloadStore,
  STORE_FROM_BYTES,
  storePayload,
} from "./payload.ts";
export {
  AbortField,
  ARGUMENT_FIELDS,
  CancelField,
  ChunkField,
  CreditField,
  DependencyField,
  DROPPED_NUMBER,
  HelloField,
  PoolReferenceField,
  RouteField,
  SHARED_CHUNKS,
  SharedField,
  StepField,
  TaskField,
  UnwantedField,
  writeAbort,
  writeCancel,
  writeCredit,
  writeDropped,
  writeHello,
  writePlainTask,
  writePoolReference,
  writeRoute,
  writeShared,
  writeStep,
  writeTask,
  writeUnwanted,
} from "./request-frames.ts";
export {
  LostField,
  OutcomeField,
  type OutcomeFrame,
  PaceField,
  RejectedField,
  WantedField,
  type Welcome,
  WelcomeField,
  writeAccepted,
  writeExecutorLost,
  writeOutcome,
  writePace,
  writeRejected,
  writeResults,
  writeSmallOutcome,
  writeWanted,
  writeWelcome,
} from "./response-frames.ts";
export type { SlicedReading } from "./sliced-reading.ts";
export { Progress, type Unfinished, type UnfinishedWatch } from "./unfinished.ts";
export {
  DEFAULT_ENCODING,
  DEFAULT_LANGUAGE,
  ENCODINGS,
  isSpoken,
  LANGUAGES,
  MINIMUM_PROTOCOL_VERSION,
  PACKAGE_VERSION,
  PROTOCOL_VERSION,
  versionConflict,
  versionProblem,
} from "./version.ts";
