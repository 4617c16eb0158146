import { acceptDependency, type Dependency } from "../../functions/index.ts";
import type { PeerIdentity } from "../../security/index.ts";
import { decode, functionPort, PayloadParts, ValueEncoder } from "../../values/index.ts";

/** A hook on its way to a worker, or an error on its way back, as plain data. */
export interface ShippedValue {
  /** In base64. */
  readonly payload: string;
  readonly dependencies: readonly Dependency[];
}

/** The receiver cannot ask for shared values later, so they are included. */
function shippingEncoder(): ValueEncoder {
  return new ValueEncoder(functionPort({ holds: () => false }));
}

/** Encodes a hook. Throws a `SerializationError` that names it `name` when it cannot travel. */
export function shipHook(hook: (...args: never) => unknown, name: string): ShippedValue {
  const encoder = shippingEncoder();
  const payload = Buffer.from(encoder.encode(hook, name)).toString("base64");
  return { payload, dependencies: encoder.dependencies };
}

/** Encodes an error. Undefined when it cannot travel. */
export function shipThrown(error: unknown): ShippedValue | undefined {
  const encoder = shippingEncoder();
  try {
    const encoded = encoder.encodeThrown(error);
    const parts = encoded instanceof PayloadParts ? encoded.parts : [encoded];
    return { payload: Buffer.concat(parts).toString("base64"), dependencies: encoder.dependencies };
  } catch {
    return undefined;
  }
}

/** Decodes a value that has arrived. */
export async function receiveValue<V>({ payload, dependencies }: ShippedValue): Promise<V> {
  await Promise.all(dependencies.map(async (dependency) => await acceptDependency(dependency)));
  return decode(Buffer.from(payload, "base64")) as V;
}

/** What an `authorize` hook is told about a task that has arrived. */
export interface AuthorizeContext {
  /** The sender, as its certificate says; undefined without mutual TLS. For a nested call that is the calling worker. */
  readonly peer: PeerIdentity | undefined;
  /** The task. */
  readonly task: {
    readonly id: string;
    /** The routine's name, as the caller reports it. */
    readonly name: string;
    /** Id of the task that made the call, if one did. */
    readonly caller: string | undefined;
  };
}

/**
 * Decides in the worker whether a caller may run a task: true lets it, false refuses it with PERMISSION_DENIED. It
 * travels like any function. It is called for each task, so it should be fast.
 */
export type AuthorizeLike = (context: AuthorizeContext) => boolean | Promise<boolean>;

/** What a backpressure hook is told about a task that has arrived. */
export interface BackpressureContext {
  /** The task. */
  readonly task: {
    readonly id: string;
    /** The routine's name. */
    readonly name: string;
    /** Id of the task that made the call, if one did. */
    readonly caller: string | undefined;
  };
  /** Tasks of this task thread that have been started and have not ended. */
  readonly running: number;
  /** Tasks of this task thread that wait because `maxConcurrency` are running. */
  readonly waiting: number;
}

/**
 * Decides in the worker whether a task is taken: true refuses it, and the caller tries the next worker. It travels like
 * any function. It is called for each task, so it should be fast.
 */
export type BackpressureLike = (context: BackpressureContext) => boolean | Promise<boolean>;
