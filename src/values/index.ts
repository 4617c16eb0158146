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
export { functionPort } from "./function-port.ts";
export { jsonSerializer, serializerOfThrown } from "./json-values.ts";
export { dumpWith, isSerializer, type Serializer } from "./serializer.ts";
export { stateSummary, zodAdditions, zodDefinition } from "./slots/index.ts";
export { setTraps } from "./traps.ts";
export {
  registerTraveller,
  type TravellerPort,
  traveller,
  travellerKindOf,
} from "./traveller.ts";
export { ValueDecoder } from "./value-decoder.ts";
export { ValueEncoder } from "./value-encoder.ts";
export { ValueRefusal } from "./value-refusal.ts";
export { heldFor, holds, isWeakCollection, NO_COLLECTIONS, type WeakCollection } from "./weak-collections.ts";
