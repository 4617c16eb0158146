import { registerValueScale } from "../functions/index.ts";
import { travellerKindOf } from "./traveller.ts";
import { weigh } from "./weigh.ts";

export { decode, encode } from "./codec.ts";
export { type FunctionPort, functionPort } from "./function-port.ts";
export { MalformedPayload } from "./bytes/malformed-payload.ts";
export type { PayloadSource } from "./bytes/payload-data.ts";
export { copyPayload, type Payload, PayloadParts } from "./bytes/payload-parts.ts";
export { Refusal } from "./refusals/refusal.ts";
export { dumpWith, isSerializer, type Serializer } from "./serializer.ts";
export { registerTraveller, type TravellerKind, type TravellerShell, traveller } from "./traveller.ts";
export { type DecodeOptions, ValueDecoder } from "./value-decoder.ts";
export { ValueEncoder } from "./value-encoder.ts";

registerValueScale({ weigh, kindOf: travellerKindOf });
