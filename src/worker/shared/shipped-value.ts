import { acceptDependency, type Dependency } from "../../functions/index.ts";
import { decode, ValueEncoder } from "../../values/index.ts";

/** A hook on its way to a worker, or an error on its way back, as plain data. */
export interface ShippedValue {
  /** In base64. */
  readonly payload: string;
  readonly dependencies: readonly Dependency[];
}

/** Takes a hook apart. Throws `SerializationError`, which calls it `name`, when it cannot travel. */
export function shipHook(hook: (...args: never) => unknown, name: string): ShippedValue {
  const encoder = new ValueEncoder();
  const payload = Buffer.from(encoder.encode(hook, name)).toString("base64");
  return { payload, dependencies: encoder.dependencies };
}

/** Takes an error apart; undefined when it cannot travel. */
export function shipThrown(error: unknown): ShippedValue | undefined {
  const encoder = new ValueEncoder();
  try {
    const encoded = encoder.encodeThrown(error);
    const parts = encoded instanceof Uint8Array ? [encoded] : encoded.parts;
    return { payload: Buffer.concat(parts).toString("base64"), dependencies: encoder.dependencies };
  } catch {
    return undefined;
  }
}

/** Puts a value together where it has arrived. */
export async function receiveValue<V>({ payload, dependencies }: ShippedValue): Promise<V> {
  await Promise.all(dependencies.map(async (dependency) => await acceptDependency(dependency)));
  return decode(Buffer.from(payload, "base64")) as V;
}
