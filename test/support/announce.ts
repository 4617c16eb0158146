import { RoutineSpec } from "../../src/routine/routine-spec.ts";
import { encode } from "../../src/values/index.ts";
import { request } from "./wire-requests.ts";

/** A message that announces a function under a number, with the code that it needs. */
export function announce(fn: (...args: never[]) => unknown, number = 1): Uint8Array {
  const spec = new RoutineSpec(fn, {}, false);
  const { code, dependencies } = spec.route();
  const needs = dependencies.map((_, i) => i + 1);
  const sent = dependencies.map(({ hash, data }, i) => ({
    number: i + 1,
    hash,
    data: Buffer.from(JSON.stringify(data)),
  }));
  // The code comes before the routine that needs it.
  return Buffer.concat([
    request({ dependencies: sent }),
    request({ routes: [{ number, name: "r", code, needs, streams: spec.streams }] }),
  ]);
}

/** A message with a task of the announced function. */
export function task(id: number, args: readonly unknown[], route = 1): Uint8Array {
  return request({ tasks: [{ id, route, args: Buffer.from(encode([...args])), sequence: BigInt(id + 1) }] });
}
