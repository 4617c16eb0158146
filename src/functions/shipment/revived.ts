import type { Dependency } from "./shipment.ts";

/** One function made from a piece of code. */
export interface CodeInstance {
  readonly value: object;
  /** Sets the captured variables, in the order of the code's slots. */
  fill(values: readonly unknown[]): void;
  /** The captured variables as they are now. */
  read(): unknown[];
  /** Of a method: the object that `super` starts from. */
  readonly holder: object | undefined;
  /** Of a class with private members. */
  readonly privates: PrivateAccess | undefined;
  /** Of a class: makes the functions that can only be made inside of it. */
  readonly inner: readonly (() => RawInstance)[];
}

/** Sets the captured variables, reads them, and the function itself. */
export type RawInstance = [(values: readonly unknown[]) => void, () => unknown[], object];

/** What a function that was revived here was made of, so that it can travel on without being analysed again. */
export interface RevivedSource {
  /** The id that it has at its origin; undefined for a copy of a function of this process, which is another one. */
  readonly id: string | undefined;
  /** Undefined for a bound function and for one that its class makes. */
  readonly instance: CodeInstance | undefined;
  readonly kind: "function" | "class" | "bound" | "inner";
  /** Undefined for a bound function and for one that its class makes. */
  readonly code: Dependency | undefined;
  /** The captured values as they are now. */
  captured(): readonly unknown[];
  readonly labels: readonly string[];
  /** Of a class: its superclass and computed keys. Of a function that its class makes: the class. */
  readonly early: readonly unknown[];
  /** Of a class: what its body defined, on itself and on its prototype. */
  readonly pristine: PristineClass | undefined;
  /** Of a class: it says `extends`. */
  readonly hasHeritage: boolean;
  /** Of a method that says `super`: where that leads. */
  readonly home: (() => object | null) | undefined;
  /** Of a function that its class makes: which one. */
  readonly index: number | undefined;
  /** Of a class with private members: how to reach them. */
  readonly privates: PrivateAccess | undefined;
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

/** Gives what extends it the object that exists already. */
const Existing = class {
  constructor(object: object) {
    // oxlint-disable-next-line no-constructor-return -- that is its purpose
    return object;
  }
};

/**
 * Keeps the source in a private field of the function itself. Tasks make many functions that live no longer than they
 * do, and entries of weak maps cost the garbage collector several times as much as such a function does.
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

/** Remembers what a revived function was made of. Once for each function. */
export function noteRevived(value: object, source: RevivedSource): void {
  new Note(value, source);
}

/** What a function was revived from; undefined for one that was made here. */
export function revivedSource(value: object): RevivedSource | undefined {
  return Note.of(value);
}
