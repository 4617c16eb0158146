import type { Dependency, FunctionPort } from "./function-port.ts";

/** Property by which an object or function says that it has a way of its own to travel; its value is the kind. */
export const traveller: unique symbol = Symbol.for("wool-ts.traveller");

/** How objects of one kind travel. The port says who sends and who receives, as far as that is known. */
export interface TravellerKind {
  /** What a copy is made of. Any values; they may refer back to `value`. */
  take(value: object, port: TravellerPort): readonly unknown[];
  /** What the receiver must have before it can make one. */
  needs?(value: object, port: TravellerPort): readonly Dependency[];
  /** How it travels, for explanations. */
  way?(value: object): string;
  /** Recognises objects that cannot say so themselves, such as those of the platform. */
  is?(value: object): boolean;
  /** A new one. It may be referred to before `complete` gets what `take` gave. */
  make(port: TravellerPort): TravellerShell;
}

/** What a traveller is told of its way. */
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

/** The kind called `name`, if it is registered. */
export function travellerKind(name: string): TravellerKind | undefined {
  return kinds.get(name);
}

/** The kind that `value` says it is, or undefined. */
export function travellerKindOf(value: object): string | undefined {
  if (!(traveller in value)) return recognised.find(({ is }) => is(value))?.name;
  const kind = value[traveller];
  return typeof kind === "string" ? kind : undefined;
}
