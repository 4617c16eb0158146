import { registerRuntimeExports } from "./runtime-exports.ts";

/** Data that needs no capture: what the description of a shipped function is made of. */
export type PlainData = null | boolean | number | string | readonly PlainData[] | { readonly [key: string]: PlainData };

/**
 * Something the receiver must have before it can assemble a function: a piece of code, or a module it has to load.
 * Content-addressed, so that a connection sends each one once.
 */
export interface Dependency {
  /** Hash of `data`, the same in every process. */
  readonly hash: string;
  readonly data: PlainData;
  /** For a value that stays with the sender until a receiver asks for it: what knows it. Does not travel. */
  readonly source?: object;
}

/** A function or class taken apart so that it can travel. */
export interface Dismantled {
  /** What it is: a reference by name, or a piece of code by the hash of a dependency, with its static facts. */
  readonly head: PlainData;
  /** What must be there before `head` can be assembled at the other side. */
  readonly dependencies: readonly Dependency[];
  /** Live values needed to make the shell: a superclass, the keys of computed members. */
  readonly early: readonly unknown[];
  /** Live values filled in once the shell exists, so that they may refer back to it: captured variables, own properties. */
  readonly parts: readonly unknown[];
  /** What to call `parts[i]` in the path of an error: `limit`, `.cache`, `#size`. */
  readonly labels: readonly string[];
}

/** A function or class being put together again. */
export interface Assembled {
  /** The function itself, or what a reference stands for. It may be referred to, but not called, before `complete`. */
  readonly value: unknown;
  /** Fills in what `Dismantled.parts` held, in the same order. */
  complete(parts: readonly unknown[]): void;
}

/** Private state of an object, taken apart: that of a class of its chain, or what modules hold for it in weak collections. */
export interface PrivateState {
  /** The class that declares the fields, or beside which the collections are. */
  readonly owner: object;
  /** Of fields, without `#`, in declaration order; or of collections, as `capture/weak-state.ts` writes them. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

/** Thrown when a function cannot travel. `path` leads from the function to what stands in the way. */
export class ShippingError extends Error {
  override readonly name = "ShippingError";
  readonly path: readonly string[];
  /** What to write instead. */
  readonly fix: string;

  constructor(message: string, path: readonly string[], fix: string) {
    super(message);
    this.path = path;
    this.fix = fix;
  }
}

// It is the cause of errors that travel, also to callers that take no class that they do not know.
registerRuntimeExports("wool-ts/functions", { ShippingError });

/** Collects the live values of a shipment and what to call them in the path of an error. */
export class PartsList {
  readonly values: unknown[] = [];
  readonly labels: string[] = [];

  /** Adds a value and returns its place. */
  add(value: unknown, label: string): number {
    this.values.push(value);
    this.labels.push(label);
    return this.values.length - 1;
  }
}

/** True for a module that is a file of the user's. */
export function isUserModule(data: PlainData | undefined): boolean {
  return typeof data === "object" && data !== null && "content" in data;
}

/** Names one export of a module to the process that sent it, for which it is missing here. */
export function exportName(hash: string, path: readonly string[]): string {
  return `${hash}#${encodeURIComponent(path.join("."))}`;
}

/** How one function is to travel, and what is known of the receiver. */
export interface ShippingPolicy {
  /** `auto` (the default) decides by the rules; the others apply to this function, not to what it captured. */
  readonly ship?: "auto" | "reference" | "value";
  /**
   * The modules that the receiver said it cannot load, by hash, and the exports of packages that it does not have, by
   * `exportName`, and why: their code travels instead.
   */
  readonly unavailable?: ReadonlyMap<string, string>;
  /** For a method: an object that has or inherits it, or its class. Needed when the method uses `super` or private names. */
  readonly holder?: object;
  /** The process this goes to: what came from there is named by its id alone. */
  readonly destination?: string;
  /** What arrives is a call: a function that this process sent out itself is made anew, not the original. */
  readonly isCall?: boolean;
  /** Where values are sent and nobody can ask for more later: whether the receiver has the shared value of that hash. */
  readonly holds?: (hash: string) => boolean;
  /** What is encoded is no part of a call: it outlives the one that it is first needed for. */
  readonly isLasting?: boolean;
}
