import type { Dependency } from "../functions/index.ts";
import type { CallContext, CallOptions } from "../routine/index.ts";
import { type ValueDecoder, ValueEncoder } from "../values/index.ts";

/** The part of a context that travels with a call. */
export interface EncodedContext {
  readonly bytes: Uint8Array;
  readonly dependencies: readonly Dependency[];
}

const encoder = new ValueEncoder();

/** Encodes the context variables and ambient options in force, or nothing when there are none. */
export function encodeContext(context: CallContext): EncodedContext | undefined {
  const variables = context.variables;
  const dispatchTimeout = context.ambient?.dispatchTimeout;
  if ((variables === undefined || variables.size === 0) && dispatchTimeout === undefined) return undefined;
  const bytes = Uint8Array.from(encoder.encode([variables, dispatchTimeout], "context"));
  return { bytes, dependencies: encoder.takeDependencies() };
}

/** Decodes the bytes of `encodeContext`, on the worker. */
export function decodeContext(
  decoder: ValueDecoder,
  buffer: Uint8Array,
  start: number,
  end: number,
): { variables?: ReadonlyMap<string, unknown>; ambient?: CallOptions } {
  const [variables, dispatchTimeout] = decoder.decode(buffer, start, end) as [
    ReadonlyMap<string, unknown> | undefined,
    number | undefined,
  ];
  return {
    ...(variables === undefined ? {} : { variables }),
    ...(dispatchTimeout === undefined ? {} : { ambient: { dispatchTimeout } }),
  };
}
