import type { Weighed, WeighOptions } from "../functions/index.ts";
import { registerValueScale } from "../functions/index.ts";
import { functionPort } from "./function-port.ts";
import { GraphWriter } from "./graph/index.ts";
import { locateRefusal } from "./refusals/index.ts";
import { travellerKind, travellerKindOf } from "./traveller.ts";
import { ValueRefusal } from "./value-refusal.ts";

/** How large the payload of a value would be and what it depends on, or why the value cannot travel. */
export function weigh(value: unknown, { path, isCaptured, policy }: WeighOptions): Weighed {
  const port = functionPort({}, typeof value === "function" ? { fn: value, policy } : undefined);
  const writer = new GraphWriter(port);
  try {
    const bytes = writer.write(value).length;
    return { bytes, dependencies: writer.takeDependencies() };
  } catch (error) {
    if (!(error instanceof ValueRefusal)) throw error;
    return { refusal: locateRefusal(error, value, path, port, isCaptured) };
  }
}

function wayOf(value: object): string | undefined {
  const kind = travellerKindOf(value);
  if (kind === undefined) return undefined;
  try {
    return travellerKind(kind)?.way?.(value) ?? `a ${kind}, which travels in its own way`;
  } catch {
    // Weighing it gives the reason of the refusal.
    return `a ${kind}`;
  }
}

registerValueScale({ weigh, wayOf });
