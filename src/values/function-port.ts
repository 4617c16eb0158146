import {
  type Assembled,
  assemble,
  beginCapture,
  bundledOrigin,
  byReference,
  Cell,
  type ChangeCheck,
  constructReturning,
  type Dependency,
  type Dismantled,
  dismantle,
  endCapture,
  findKnown,
  foresee,
  type KeptPlace,
  keptEntryAt,
  keptObjectAt,
  keptPlaceOf,
  makingOf,
  noteConstructor,
  notePrototype,
  type PlainData,
  PortableIds,
  type PrivateState,
  privatesOf,
  referenceOf,
  refuseSymbol,
  restorePrivates,
  rulesVersion,
  ShippingError,
  type ShippingPolicy,
  viewPromise,
  watchEntries,
  watchExamined,
  watchFunction,
  watchProperties,
  watchWeakState,
} from "../functions/index.ts";

export {
  type Assembled,
  beginCapture,
  bundledOrigin,
  byReference,
  type ChangeCheck,
  type Dependency,
  type Dismantled,
  endCapture,
  type KeptPlace,
  makingOf,
  type PlainData,
  PortableIds,
  type PrivateState,
  ShippingError,
  viewPromise,
  watchEntries,
  watchProperties,
};

/** What this codec needs from the code that ships functions. Tests replace it. */
export interface FunctionPort {
  /** What is known about sender and receiver. */
  readonly policy?: ShippingPolicy;
  /** Takes a function or class apart. `holder` is the object that has it as a method. Throws `ShippingError`. */
  dismantle(fn: object, holder?: object): Dismantled;
  /** Says which values are about to be written. Those that are functions can be taken apart faster together. */
  foresee?(values: readonly unknown[]): void;
  /** Makes the shell of a function, or finds an object by its name, from the result of `dismantle` or `referenceOf`. */
  assemble(head: PlainData, early: readonly unknown[]): Assembled;
  /** The result of `assemble`, if this process has it already. Compiles and loads nothing. */
  findKnown(head: PlainData, early: readonly unknown[]): unknown;
  /** How to name an object or symbol that both sides have: an intrinsic, a module. Undefined for an ordinary object. */
  referenceOf(value: object | symbol): Dismantled | undefined;
  /** Says that an instance of `fn` travels. */
  noteConstructor(fn: object): void;
  /** Says that an instance travels that inherits from this object, which is not the `prototype` of a function. */
  notePrototype(prototype: object): void;
  /** Throws `ShippingError` for an instance with a property under a symbol that the receiver's class would not use. */
  refuseSymbol(instance: object, symbol: symbol): void;
  /** Where its class or its package keeps an instance that the receiver has, too; undefined for any other instance. */
  keptPlaceOf?(instance: object, cls: object): KeptPlace | undefined;
  /** The instance with the same contents at such a place of this process; undefined when there is none. */
  keptObjectAt?(cls: object, place: KeptPlace): object | undefined;
  /** The same for an entry, which has these fields. It is made if it is missing. */
  keptEntryAt?(cls: object, place: KeptPlace, fields: ReadonlyMap<string, unknown>): object | undefined;
  /** The private fields of an instance, empty when it has none. */
  privatesOf(value: object): readonly PrivateState[];
  /** A new object for an instance with private fields; undefined for one that can be made as any other. */
  constructReturning?(cls: object): object | undefined;
  restorePrivates(value: object, states: readonly PrivateState[]): void;
  /**
   * Whether all functions of the capture under way are the same, after one was refused because there are too many;
   * undefined when nothing tells.
   */
  watchExamined?(): ChangeCheck | undefined;
  /**
   * Whether a function that the capture under way has taken apart would give the same again; undefined when nothing
   * tells.
   */
  watchFunction?(fn: object): ChangeCheck | undefined;
  /** What tells whether an object still has no private state; undefined when it has some, or when nothing tells. */
  watchPrivates?(value: object): readonly ChangeCheck[] | undefined;
  /** Changes whenever functions may travel in another way for a reason that is not in them. */
  rules?(): string;
}

/** A function that travels in its own way; its captured values follow the general rules. */
export interface OwnPolicy {
  readonly fn: object;
  readonly policy: ShippingPolicy;
}

/** Ships functions as `policy` says, which depends on the receiver. One function may have its own policy. */
export function functionPort(policy: ShippingPolicy = {}, own?: OwnPolicy): FunctionPort {
  const ownPolicy = { ...policy, ...own?.policy };
  const policyOf = (fn: object, holder: object | undefined): ShippingPolicy => {
    if (own?.fn === fn) return ownPolicy;
    return holder === undefined ? policy : { ...policy, holder };
  };
  return {
    policy,
    dismantle: (fn, holder) => dismantle(fn, policyOf(fn, holder)),
    foresee,
    assemble: (head, early) => assemble(head, early, policy),
    findKnown,
    referenceOf: (value) => referenceOf(value, policy),
    noteConstructor,
    notePrototype,
    refuseSymbol: (instance, symbol) => refuseSymbol(instance, symbol, policy),
    keptPlaceOf: (instance, cls) => keptPlaceOf(instance, cls, policy),
    keptObjectAt,
    keptEntryAt,
    privatesOf: (value) => privatesOf(value, policy),
    constructReturning,
    restorePrivates,
    watchExamined,
    watchFunction: (fn) => watchFunction(fn, policy),
    watchPrivates: (value) => (privatesOf(value, policy).length > 0 ? undefined : watchWeakState(value, policy)),
    rules: () => rulesVersion(policy),
  };
}

const platformNames = new WeakMap<object, string>();

/** The name of a class of the language or of Node.js, such as `net.Socket`; undefined for a user's class. */
export function platformName(constructor: { readonly name: string }): string | undefined {
  let name = platformNames.get(constructor);
  if (name === undefined) {
    name = nameOf(constructor.name, referenceOf(constructor)?.head);
    platformNames.set(constructor, name);
  }
  return name === "" ? undefined : name;
}

function nameOf(name: string, head: PlainData | undefined): string {
  if (typeof head !== "object" || head === null || !("kind" in head)) return "";
  // Some classes of the language are only found through others.
  if (head.kind === "intrinsic") return typeof head.path === "string" && !head.path.includes("[[") ? head.path : name;
  if (head.kind !== "builtin") return "";
  return [head.module, ...(Array.isArray(head.path) ? head.path : [])].map(String).join(".");
}

/** True for a captured variable that several functions share. */
export function isCell(value: object): value is Cell {
  return value instanceof Cell;
}

/** A shared variable without a value yet. */
export function createCell(): Cell {
  return new Cell();
}
