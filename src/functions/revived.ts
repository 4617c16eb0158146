import type { Dependency } from "./shipment.ts";

/** What a function that was revived here was made of, so that it can travel on without being analysed again. */
export interface RevivedSource {
  readonly kind: "function" | "class" | "bound";
  /** Undefined for a bound function. */
  readonly code: Dependency | undefined;
  /** The captured values as they are now. */
  captured(): readonly unknown[];
  readonly labels: readonly string[];
  /** Of a class: its superclass and computed keys. */
  readonly early: readonly unknown[];
  /** Of a class: what its body defined, on itself and on its prototype. */
  readonly pristine: PristineClass | undefined;
  /** Facts of the head that do not change. */
  readonly facts: { readonly hasHeritage: boolean };
}

/** The properties of a class right after its definition. */
export interface PristineClass {
  readonly statics: ReadonlyMap<string | symbol, PropertyDescriptor>;
  readonly members: ReadonlyMap<string | symbol, PropertyDescriptor>;
}

const sources = new WeakMap<object, RevivedSource>();

/** Remembers what a revived function was made of. */
export function noteRevived(value: object, source: RevivedSource): void {
  sources.set(value, source);
}

/** What a function was revived from; undefined for one that was made here. */
export function revivedSource(value: object): RevivedSource | undefined {
  return sources.get(value);
}
