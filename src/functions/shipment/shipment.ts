import { registerRuntimeExports } from "./runtime-exports.ts";

/**
 * A property that makes an object travel by the name of its export, if it has one. Its value may be a function of the
 * module that exports the object: then the export is found although nobody has imported it.
 */
export const byReference: unique symbol = Symbol.for("wool-ts.by-reference");

/** Plain data, for the description of a shipped function. */
export type PlainData = null | boolean | number | string | readonly PlainData[] | { readonly [key: string]: PlainData };

/**
 * Something the receiver must have before it can assemble a function: a piece of code, or a module it has to load.
 * Content-addressed, so that a connection sends each one once.
 */
export interface Dependency {
  /** Hash of `data`, the same in every process. */
  readonly hash: string;
  readonly data: PlainData;
  /** For a value that stays with the sender until a receiver asks for it: the object that holds it. Does not travel. */
  readonly source?: object;
}

/** A function or class taken apart so that it can travel. */
export interface Dismantled {
  /** A reference by name, or a piece of code by the hash of a dependency, with its static facts. */
  readonly head: PlainData;
  /** The dependencies that the receiver needs before it can assemble `head`. */
  readonly dependencies: readonly Dependency[];
  /** Live values needed to make the shell: a superclass, the keys of computed members. */
  readonly early: readonly unknown[];
  /** Live values filled in once the shell exists, so that they may refer back to it: captured variables, own properties. */
  readonly parts: readonly unknown[];
  /** The names of `parts` in the path of an error: `limit`, `.cache`, `#size`. */
  readonly labels: readonly string[];
}

/** A function or class that is being assembled. */
export interface Assembled {
  /** The function itself, or the value of a reference. Before `complete` it may be referred to, but not called. */
  readonly value: unknown;
  /** Fills in the values of `Dismantled.parts`, in the same order. */
  complete(parts: readonly unknown[]): void;
}

/** Private state of an object: of one of its classes, or its entries in weak collections of modules. */
export interface PrivateState {
  /** The class that declares the fields, or beside which the collections are. */
  readonly owner: object;
  /** Names of fields, without `#`, in declaration order; or of collections, as `capture/weak-state.ts` writes them. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

/** Thrown when a function cannot travel. `path` leads from the function to the obstacle. */
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

// It is the cause of errors that travel, also to callers that refuse unknown classes.
registerRuntimeExports("wool-ts/functions", { ShippingError });

/** Collects the live values of a shipment and their names in the path of an error. */
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

/** True for a module that is a user's file. */
export function isUserModule(data: PlainData | undefined): boolean {
  return typeof data === "object" && data !== null && "content" in data;
}

/** The name of a missing export of a module, for the process that sent it. */
export function exportName(hash: string, path: readonly string[]): string {
  return `${hash}#${encodeURIComponent(path.join("."))}`;
}

/** How one function should travel, and what is known about the receiver. */
export interface ShippingPolicy {
  /** `auto` (the default) decides by the rules; the others apply to this function, not to its captured values. */
  readonly ship?: "auto" | "reference" | "value";
  /**
   * Modules that the receiver cannot load, by hash, and exports of packages that it does not have, by `exportName`,
   * with the reasons. Their code travels instead.
   */
  readonly unavailable?: ReadonlyMap<string, string>;
  /** For a method: an object that has or inherits it, or its class. Needed when the method uses `super` or private names. */
  readonly holder?: object;
  /** The receiving process: functions that came from there are named by their id alone. */
  readonly destination?: string;
  /** A call arrives: a function that this process sent out is made again, and is not the original. */
  readonly isCall?: boolean;
  /** What arrives is code with what it captured, and not something that a caller has passed. */
  readonly isCaptured?: boolean;
  /** For values whose receiver cannot ask for more later: whether it has the shared value of that hash. */
  readonly holds?: (hash: string) => boolean;
  /** The payload outlives the call that needs it first. */
  readonly isLasting?: boolean;
}
