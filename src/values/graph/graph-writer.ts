import { types } from "node:util";
import {
  ARRAY,
  BACK_REFERENCE,
  BinaryWriter,
  ByteWriter,
  FALSE,
  FORMAT,
  HAS_BINARY,
  HAS_REFERENCES,
  HAS_WEAK_ENTRIES,
  INLINE_DEPTH,
  LATER_ARRAY,
  LATER_OBJECT,
  MAX_DEPTH,
  NUMBERS,
  OBJECT,
  RECORD,
  SEGMENT,
  SHAPES,
  SHORT_ARRAY,
  SHORT_OBJECT,
} from "../bytes/index.ts";
import { writeFunction } from "../function-nodes.ts";
import type { Dependency, FunctionPort } from "../function-port.ts";
import type { PropertyChanges } from "../omissions.ts";
import { isFractions, isPlainArray, isPlainProperty, isSameList } from "../plain-shape.ts";
import { proxyRefusal, ValueRefusal } from "../value-refusal.ts";
import { holds, isWeakKey, NO_COLLECTIONS, type WeakCollection, writeEntry } from "../weak-collections.ts";
import { ObjectNumbers } from "./object-numbers.ts";
import type { Segment } from "./segment.ts";
import { writeSpecialObject } from "./special-object.ts";
import { writeSymbol } from "./symbols.ts";

const isProxy = types.isProxy;
const getPrototypeOf = Object.getPrototypeOf;
const getOwnPropertyNames = Object.getOwnPropertyNames;
const getOwnPropertySymbols = Object.getOwnPropertySymbols;
const getOwnPropertyDescriptor = Object.getOwnPropertyDescriptor;
const isExtensible = Object.isExtensible;
/** So many functions of an array are looked at together. */
const FORESEEN = 256;
const NO_DEPENDENCIES: readonly Dependency[] = Object.freeze([]);

/**
 * Writes one value with everything reachable from it. Numbers, strings, plain arrays and plain objects are written
 * here; other objects in `special-object.ts`.
 */
export class GraphWriter extends ByteWriter {
  readonly port: FunctionPort;
  readonly binary = new BinaryWriter();
  depth = 0;
  /** How many functions were written in this payload, and when the first one was begun. */
  functions = 0;
  began = 0;
  /** Properties that are left out of this payload, if any. */
  omissions: PropertyChanges | undefined;
  #seen = new ObjectNumbers();
  #referred = false;
  #shapes: (readonly string[])[] = [];
  #later: (() => void)[] = [];
  #unnamed: Set<object | null> | undefined;
  #dependencies: Map<string, Dependency> | undefined;
  /** Collections that are asked about each object of the payload, and how many objects each has been asked about. */
  #collections: Map<WeakCollection, number> | undefined;
  #hasEntries = false;

  constructor(port: FunctionPort) {
    super();
    this.port = port;
  }

  /** Asks `collection` about each object of this payload. */
  noteCollection(collection: WeakCollection): void {
    this.#collections ??= new Map();
    if (!this.#collections.has(collection)) this.#collections.set(collection, 0);
  }

  /** The collections whose entries are in the payload written last. */
  takeCollections(): readonly WeakCollection[] {
    return this.#collections === undefined ? NO_COLLECTIONS : [...this.#collections.keys()];
  }

  /** The payload of `value`, valid until this writer is used again. Throws `ValueRefusal`. */
  write(value: unknown): Buffer {
    this.position = 1;
    this.value(value);
    return this.#finish();
  }

  /**
   * The payload of an array that has only elements, no other properties.
   *
   * @param segments - finds what was written for an element before, if it would be the same now
   */
  writeList(values: readonly unknown[], segments?: { find(value: unknown): Segment | undefined }): Buffer {
    this.position = 1;
    this.#seen.add(values);
    if (segments === undefined) this.#array(values);
    else {
      this.byte(ARRAY);
      this.varint(values.length);
      this.depth++;
      for (const value of values) {
        const segment = segments.find(value);
        if (segment === undefined || !this.#embed(segment)) this.value(value);
      }
      this.depth--;
    }
    return this.#finish();
  }

  /**
   * The value as a part of other payloads; undefined for one with binary data, which is at the end of a payload. Throws
   * `ValueRefusal`.
   */
  writeSegment(value: unknown): Segment | undefined {
    this.position = 0;
    this.value(value);
    if (this.#later.length > 0) this.writeLater();
    if (!this.binary.isEmpty) return undefined;
    return {
      bytes: new Uint8Array(this.bytes.subarray(0, this.position)),
      numbers: new Map(this.#seen.list().map((each, number) => [each, number])),
      hasReferences: this.#referred,
      dependencies: this.takeDependencies(),
      collections: this.takeCollections(),
    };
  }

  /** Writes a segment; false when something in it is in the payload already. */
  #embed({ bytes, numbers, hasReferences, dependencies, collections }: Segment): boolean {
    if (!this.#seen.embed(numbers)) return false;
    if (hasReferences) this.#referred = true;
    for (const collection of collections) this.noteCollection(collection);
    this.need(dependencies);
    this.byte(SEGMENT);
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.position);
    this.position += bytes.length;
    return true;
  }

  /** The dependencies of the payload written last. */
  takeDependencies(): readonly Dependency[] {
    return this.#dependencies === undefined ? NO_DEPENDENCIES : [...this.#dependencies.values()];
  }

  /** The objects of the payload that is being written. */
  *objects(): Generator<object> {
    for (const each of this.#seen.list()) if (typeof each === "object" && each !== null) yield each;
  }

  /** Releases everything that the last payload referred to. */
  clear(): void {
    this.#seen.clear();
    this.#referred = false;
    if (this.#shapes.length > 0) this.#shapes = [];
    this.depth = 0;
    this.functions = 0;
    if (this.#later.length > 0) this.#later = [];
    if (!this.binary.isEmpty) this.binary.clear();
    this.forgetLeft();
    this.#unnamed = undefined;
    this.#dependencies = undefined;
    if (this.#collections !== undefined) {
      this.#collections = undefined;
      this.#hasEntries = false;
    }
  }

  value(value: unknown): void {
    if (this.primitive(value)) return;
    if (typeof value === "object" && value !== null) this.object(value);
    else if (typeof value === "function") writeFunction(this, value);
    else if (typeof value === "symbol") writeSymbol(this, value);
  }

  object(value: object): void {
    if (this.refer(value)) return;
    if (isProxy(value)) throw proxyRefusal(value);
    const prototype: object | null = getPrototypeOf(value);
    if (prototype === Object.prototype) {
      if (this.#plainObject(value)) return;
    } else if (prototype === Array.prototype && Array.isArray(value) && isPlainArray(value)) {
      this.#seen.add(value);
      this.#array(value);
      return;
    }
    writeSpecialObject(this, value, prototype);
  }

  /** Writes a back reference if `value` has been written before. */
  refer(value: object | symbol): boolean {
    const known = this.#seen.find(value);
    if (known < 0) return false;
    this.#referred = true;
    this.byte(BACK_REFERENCE);
    this.varint(known);
    return true;
  }

  isKnown(value: object): boolean {
    return this.#seen.find(value) >= 0;
  }

  /** Gives `value` its number. The reader does so at the same point. */
  remember(value: object | symbol): void {
    this.#seen.add(value);
  }

  /** True when it is known that objects with this prototype have no name that both sides know. */
  isUnnamed(prototype: object): boolean {
    return this.#unnamed?.has(prototype) === true;
  }

  addUnnamed(prototype: object | null): void {
    this.#unnamed ??= new Set();
    this.#unnamed.add(prototype);
  }

  /** Calls `write` when everything before it has been written. */
  defer(write: () => void): void {
    this.#later.push(write);
  }

  /** Goes one level down, for contents that cannot be written later. */
  enter(value: WeakKey): void {
    if (++this.depth > MAX_DEPTH - 1) {
      throw new ValueRefusal(value, "the hierarchy of classes is too deep to travel", "Flatten the hierarchy.");
    }
  }

  leave(): void {
    this.depth--;
  }

  /** Notes dependencies of the payload. */
  need(dependencies: readonly Dependency[]): void {
    for (const dependency of dependencies) {
      this.#dependencies ??= new Map();
      this.#dependencies.set(dependency.hash, dependency);
    }
  }

  #finish(): Buffer {
    if (this.#later.length > 0) this.writeLater();
    if (this.#collections !== undefined) this.#writeEntries(this.#collections);
    let header = FORMAT;
    if (this.#hasEntries) header |= HAS_WEAK_ENTRIES;
    if (this.#referred) header |= HAS_REFERENCES;
    if (!this.binary.isEmpty) {
      header |= HAS_BINARY;
      this.binary.write(this);
    }
    this.bytes[0] = header;
    return this.written();
  }

  /** Writes everything that was put off. */
  writeLater(): void {
    // Writing these may defer more.
    const later = this.#later;
    for (let index = 0; index < later.length; index++) later[index]?.();
    this.#later = [];
  }

  /** Writes the entries of the collections for objects of the payload. That may add more objects and collections. */
  #writeEntries(collections: Map<WeakCollection, number>): void {
    let found: boolean;
    do {
      found = false;
      const objects = this.#seen.list();
      for (const [collection, asked] of collections) {
        collections.set(collection, objects.length);
        for (let index = asked; index < objects.length; index++) {
          const key = objects[index];
          if (!isWeakKey(key) || !holds(collection, key)) continue;
          found = true;
          this.#hasEntries = true;
          writeEntry(this, collection, key);
        }
      }
    } while (found);
    if (this.#hasEntries) this.byte(FALSE);
  }

  #array(values: readonly unknown[]): void {
    const length = values.length;
    if (this.depth >= INLINE_DEPTH) {
      this.#deferArray(values);
      return;
    }
    if (length < 16) {
      this.byte(SHORT_ARRAY | length);
    } else if (isFractions(values)) {
      this.byte(NUMBERS);
      this.varint(length);
      this.float64s(values);
      return;
    } else {
      this.byte(ARRAY);
      this.varint(length);
    }
    this.depth++;
    if (length > 1 && typeof values[0] === "function") this.#functions(values);
    else for (let index = 0; index < length; index++) this.value(values[index]);
    this.depth--;
  }

  #functions(values: readonly unknown[]): void {
    for (const [index, value] of values.entries()) {
      if (index % FORESEEN === 0) this.port.foresee?.(values.slice(index, index + FORESEEN));
      this.value(value);
    }
  }

  // A separate method: a closure in the one above would make that slower, even when it is not created.
  #deferArray(values: readonly unknown[]): void {
    const length = values.length;
    this.byte(LATER_ARRAY);
    this.varint(length);
    this.defer(() => {
      for (let index = 0; index < length; index++) this.value(values[index]);
    });
  }

  /** False when the object is not as plain as its prototype says. */
  #plainObject(value: object): boolean {
    if (!isExtensible(value) || getOwnPropertySymbols(value).length > 0) return false;
    if (this.omissions !== undefined && this.omissions.concern(value)) return false;
    const keys = getOwnPropertyNames(value);
    const count = keys.length;
    const values: unknown[] = [];
    for (let index = 0; index < count; index++) {
      const key = keys[index] ?? "";
      const property = getOwnPropertyDescriptor(value, key);
      if (!isPlainProperty(property) || key === "__proto__") return false;
      const held: unknown = property.value;
      // An object of functions may be a module or a namespace, which travels by name.
      if (typeof held === "function") return false;
      values.push(held);
    }
    if (count === 0 && Object.prototype.toString.call(value) !== "[object Object]") return false;
    this.#seen.add(value);
    if (this.depth >= INLINE_DEPTH) {
      this.#deferProperties(keys, values);
      return true;
    }
    this.#keys(keys);
    this.depth++;
    for (let index = 0; index < count; index++) this.value(values[index]);
    this.depth--;
    return true;
  }

  /** Writes the tag and keys of a plain object, or only the number of the list of keys if it has been written before. */
  #keys(keys: readonly string[]): void {
    const shapes = this.#shapes;
    for (let index = 0; index < shapes.length; index++) {
      if (isSameList(shapes[index], keys)) {
        this.byte(RECORD | index);
        return;
      }
    }
    const count = keys.length;
    if (shapes.length < SHAPES && count > 0) shapes.push(keys);
    if (count < 16) {
      this.byte(SHORT_OBJECT | count);
    } else {
      this.byte(OBJECT);
      this.varint(count);
    }
    for (let index = 0; index < count; index++) this.string(keys[index] ?? "");
  }

  #deferProperties(keys: readonly string[], values: readonly unknown[]): void {
    this.byte(LATER_OBJECT);
    this.defer(() => {
      this.varint(keys.length);
      for (const key of keys) this.string(key);
      for (const value of values) this.value(value);
    });
  }
}
