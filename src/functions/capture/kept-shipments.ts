import type { CodeSite } from "../engine/index.ts";
import { isRecord, overridesVersion, type PlainData, type ShippingPolicy } from "../shipment/index.ts";
import { isUnaltered } from "./describe-function.ts";
import type { DismantledWithReason } from "./dismantle.ts";

/*
 * A value of a package may hold a thousand functions, which are taken apart for each call that has it as an argument.
 * For most of them the result is the same each time: nothing that they captured can change, and they are as the engine
 * made them. Then looking whether that still holds is enough. A later call with a schema of zod 3 takes 0.75x of the
 * processor time.
 */

/** A function that was taken apart, and what the budget of a capture has to know about it. */
export interface KeptShipment {
  readonly result: DismantledWithReason;
  /** Undefined for a bound function. */
  readonly site: CodeSite | undefined;
  readonly file: string | undefined;
}

interface Entry extends KeptShipment {
  readonly name: PlainData | undefined;
  readonly length: PlainData | undefined;
  readonly version: number;
}

const kept = new WeakMap<object, Entry>();

/** What taking a function apart gave before; undefined when it may give something else now. */
export function keptShipment(fn: object, policy: ShippingPolicy): KeptShipment | undefined {
  const entry = kept.get(fn);
  if (entry === undefined || entry.version !== overridesVersion() || !isUsual(policy)) return undefined;
  if (isUnaltered(fn, entry.name, entry.length)) return entry;
  kept.delete(fn);
  return undefined;
}

/** Keeps what taking a function apart gave, if that can be the same again. */
export function keepShipment(fn: object, policy: ShippingPolicy, shipment: KeptShipment): void {
  const { captured, shipment: dismantled } = shipment.result;
  if (!isUsual(policy) || captured.some(({ isFixed }) => !isFixed)) return;
  const { head } = dismantled;
  if (!isRecord(head) || !Object.keys(head).every((fact) => LASTING.has(fact))) return;
  const { name, length } = head;
  if (isUnaltered(fn, name, length)) kept.set(fn, { ...shipment, name, length, version: overridesVersion() });
}

/** The receiver lacks nothing, and the rules decide how the function travels. */
function isUsual({ ship = "auto", unavailable }: ShippingPolicy): boolean {
  return ship === "auto" && (unavailable === undefined || unavailable.size === 0);
}

/** The facts about a function that never change, or that `isUnaltered` looks at. */
const LASTING: ReadonlySet<string> = new Set(["kind", "id", "code", "captured", "name", "length"]);
