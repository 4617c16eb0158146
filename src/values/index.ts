export {
  copyPayload,
  type EncodedValue,
  MalformedPayload,
  PayloadParts,
  type PayloadSource,
  readSharedPayload,
  type SharedPayload,
  sharedParts,
} from "./bytes/index.ts";
export { decode, encode } from "./codec.ts";
export { NotData } from "./function-nodes.ts";
export { type FunctionPort, functionPort } from "./function-port.ts";
export { jsonSerializer, serializerOfThrown } from "./json-values.ts";
export { Refusal } from "./refusal.ts";
export { dumpWith, isSerializer, type Serializer } from "./serializer.ts";
export { stateSummary, zodDefinition } from "./slots/index.ts";
export { setTraps } from "./traps.ts";
export {
  registerTraveller,
  type TravellerKind,
  type TravellerPort,
  type TravellerShell,
  traveller,
  travellerKindOf,
} from "./traveller.ts";
export { type DecodeOptions, type DecoderOptions, ValueDecoder } from "./value-decoder.ts";
export { ValueEncoder } from "./value-encoder.ts";
export { heldFor, holds, isWeakCollection, NO_COLLECTIONS, type WeakCollection } from "./weak-collections.ts";
