export { type BinarySection, MAX_RESERVED, maxByteLengthOf, readTrailer, TRAILER_SIZE } from "./binary-layout.ts";
export { type BinaryData, BinaryReader } from "./binary-reader.ts";
export { BinaryWriter } from "./binary-writer.ts";
export { ByteReader, isPrimitive, NOT_PLAIN } from "./byte-reader.ts";
export { ByteWriter } from "./byte-writer.ts";
export { MalformedPayload } from "./malformed-payload.ts";
export { DataInMemory, DataInSource, type PayloadSource } from "./payload-data.ts";
export { copyPayload, type EncodedValue, PayloadParts } from "./payload-parts.ts";
export {
  DataInShared,
  isSharedMemory,
  openShared,
  readSharedPayload,
  type SharedPayload,
  sharedParts,
} from "./shared-payload.ts";
export {
  ARRAY,
  BACK_REFERENCE,
  BIGINT,
  BIGINT_64,
  CELL,
  FALSE,
  FORMAT,
  FUNCTION,
  HAS_BINARY,
  HAS_REFERENCES,
  HAS_WEAK_ENTRIES,
  INLINE_DEPTH,
  LATER_ARRAY,
  LATER_OBJECT,
  MAX_DEPTH,
  NUMBERS,
  OBJECT,
  PLATFORM_SYMBOL,
  RECORD,
  REFERENCE,
  REGISTERED_SYMBOL,
  SEGMENT,
  SHAPES,
  SHORT_ARRAY,
  SHORT_OBJECT,
  SPECIAL_OBJECT,
  TRAVELLER,
  TRUE,
  UNDEFINED,
  UNIQUE_SYMBOL,
  WELL_KNOWN_SYMBOL,
} from "./tags.ts";
