import { SerializationError } from "../errors.ts";
import type { FunctionPort } from "./function-port.ts";
import type { Refusal } from "./refusal.ts";

/** Says where in `root` a refused value is. */
export function explain(refusal: Refusal, root: unknown, rootName: string, port: FunctionPort): SerializationError {
  void root; void port;
  return new SerializationError(`${rootName} ${refusal.message}. ${refusal.fix}`, rootName, { cause: refusal.cause });
}
