import type { Dependency } from "./shipment.ts";

/** One function made from a piece of code. */
export interface CodeInstance {
  readonly value: object;
  /** Sets the captured variables, in the order of the code's slots. */
  fill(values: readonly unknown[]): void;
  /** The captured variables as they are now. */
  read(): unknown[];
  /** For a method: the object that `super` starts from. */
  readonly holder: object | undefined;
  /** For a class with private members. */
  readonly privates: PrivateAccess | undefined;
  /** For a class: makes the functions that can only be made inside it. */
  readonly inner: readonly (() => RawInstance)[];
}

/** Sets the captured variables, reads them, and the function itself. */
export type RawInstance = [(values: readonly unknown[]) => void, () => unknown[], object];

/** The parts of a function that was revived here, so that it can travel on without being analysed again. */
export interface RevivedSource {
  /** The id that it has at its origin; undefined for a copy of a function of this process, which is another function. */
  readonly id: string | undefined;
  /** Undefined for a bound function and for one that its class makes. */
  readonly instance: CodeInstance | undefined;
  readonly kind: "function" | "class" | "bound" | "inner";
  /** Undefined for a bound function and for one that its class makes. */
  readonly code: Dependency | undefined;
  /** The captured values as they are now. */
  captured(): readonly unknown[];
  readonly labels: readonly string[];
  /** For a class: its superclass and computed keys. For a function that its class makes: the class. */
  readonly early: readonly unknown[];
  /** For a class: the properties that its body defined, on the class and on its prototype. */
  readonly pristine: PristineClass | undefined;
  /** For a class: it has an `extends` clause. */
  readonly hasHeritage: boolean;
  /** For a method that uses `super`: the object that `super` refers to. */
  readonly home: (() => object | null) | undefined;
  /** For a function that its class makes: its index. */
  readonly index: number | undefined;
  /** For a class with private members: access to them. */
  readonly privates: PrivateAccess | undefined;
  /** For a class: instances may return to where it was defined, private fields too. */
  readonly isQuiet?: boolean;
  /** For a function: a caller has passed it, so that what it captured is a copy for one call. */
  readonly isPassed?: boolean;
}

/** Reaches the private members of a revived class. */
export interface PrivateAccess {
  /** Private instance fields, without `#`, in declaration order. */
  readonly fields: readonly string[];
  /** Private methods and accessors, which every instance keeps after its fields. */
  readonly methods: readonly string[];
  /** Private static fields. */
  readonly statics: readonly string[];
  /** It has private instance members: fields, methods or accessors. */
  readonly hasInstanceMembers: boolean;
  has(object: object): boolean;
  /** Gives an object the private members of the class, as a constructor would, but without running anything. */
  install(object: object): void;
  read(object: object): unknown[];
  write(object: object, values: readonly unknown[]): void;
  readStatic(): unknown[];
  writeStatic(values: readonly unknown[]): void;
}

/** The properties of a class right after its definition. */
export interface PristineClass {
  readonly statics: ReadonlyMap<string | symbol, PropertyDescriptor>;
  readonly members: ReadonlyMap<string | symbol, PropertyDescriptor>;
}

/** A superclass that returns an existing object. */
const Existing = class {
  constructor(object: object) {
    // oxlint-disable-next-line no-constructor-return -- that is its purpose
    return object;
  }
};

/**
 * Keeps the source in a private field of the function itself. Tasks make many short-lived functions, and an entry in a
 * weak map costs the garbage collector several times as much as such a function.
 */
class Note extends Existing {
  readonly #source: RevivedSource;

  constructor(value: object, source: RevivedSource) {
    super(value);
    this.#source = source;
  }

  static of(value: object): RevivedSource | undefined {
    return #source in value ? value.#source : undefined;
  }
}

/** Remembers the source of a revived function. Call it once for each function. */
export function noteRevived(value: object, source: RevivedSource): void {
  new Note(value, source);
}

/** The source of a revived function; undefined for one that was made here. */
export function revivedSource(value: object): RevivedSource | undefined {
  return Note.of(value);
}
