import { loadRuntimeExports } from "../functions/index.ts";
import type { Dependency, FunctionPort } from "./function-port.ts";

/** Property of an object or function that has its own way to travel; its value is the kind. */
export const traveller: unique symbol = Symbol.for("wool-ts.traveller");

/** How objects of one kind travel. The port describes sender and receiver, as far as they are known. */
export interface TravellerKind {
  /** The values from which a copy is made. They may refer back to `value`. */
  take(value: object, port: TravellerPort): readonly unknown[];
  /** The dependencies that the receiver must have before it can make one. */
  needs?(value: object, port: TravellerPort): readonly Dependency[];
  /** How it travels, for explanations. */
  way?(value: object): string;
  /** Recognises objects that cannot say so themselves, such as those of the platform. */
  is?(value: object): boolean;
  /** Makes a new one. Others may refer to it before `complete` gets the result of `take`. */
  make(port: TravellerPort): TravellerShell;
}

/** The information that a traveller has about sender and receiver. */
export type TravellerPort = Pick<FunctionPort, "policy">;

/** A traveller that has arrived, not yet filled in. */
export interface TravellerShell {
  readonly value: object;
  complete(parts: readonly unknown[]): void;
}

const kinds = new Map<string, TravellerKind>();
const recognised: { readonly name: string; readonly is: (value: object) => boolean }[] = [];

/** Says how objects whose `traveller` property is `kind` travel. A later registration replaces an earlier one. */
export function registerTraveller(kind: string, how: TravellerKind): void {
  kinds.set(kind, how);
  if (how.is !== undefined) recognised.push({ name: kind, is: how.is });
}

/** The kind called `name`, if it is registered, or is once the rest of the runtime is loaded. */
export function travellerKind(name: string): TravellerKind | undefined {
  const kind = kinds.get(name);
  if (kind !== undefined) return kind;
  loadRuntimeExports();
  return kinds.get(name);
}

/** The kind in the `traveller` property of `value`, or undefined. */
export function travellerKindOf(value: object): string | undefined {
  if (!(traveller in value)) return recognised.find(({ is }) => is(value))?.name;
  const kind = value[traveller];
  return typeof kind === "string" ? kind : undefined;
}
