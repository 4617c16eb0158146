import { acceptDependency, type Dependency } from "../../functions/index.ts";
import { decode, ValueEncoder } from "../../values/index.ts";

/** A hook on its way to a worker, as plain data. */
export interface ShippedHook {
  /** In base64. */
  readonly payload: string;
  readonly dependencies: readonly Dependency[];
}

/** Takes a hook apart. Throws `SerializationError`, which calls it `name`, when it cannot travel. */
export function shipHook(hook: (...args: never) => unknown, name: string): ShippedHook {
  const encoder = new ValueEncoder();
  const payload = Buffer.from(encoder.encode(hook, name)).toString("base64");
  return { payload, dependencies: encoder.dependencies };
}

/** Puts a hook together in its worker. */
export async function receiveHook<H>({ payload, dependencies }: ShippedHook): Promise<H> {
  await Promise.all(dependencies.map(async (dependency) => await acceptDependency(dependency)));
  return decode(Buffer.from(payload, "base64")) as H;
}
