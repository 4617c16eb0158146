import {
  ARRAY,
  BACK_REFERENCE,
  BIGINT,
  BIGINT_64,
  type BinaryData,
  BinaryReader,
  type BinarySection,
  ByteReader,
  CELL,
  DataInMemory,
  DataInShared,
  FORMAT,
  FUNCTION,
  HAS_BINARY,
  HAS_REFERENCES,
  HAS_WEAK_ENTRIES,
  isPrimitive,
  LATER_ARRAY,
  LATER_OBJECT,
  MAX_DEPTH,
  MalformedPayload,
  NUMBERS,
  OBJECT,
  openShared,
  PLATFORM_SYMBOL,
  RECORD,
  REFERENCE,
  REGISTERED_SYMBOL,
  readTrailer,
  SEGMENT,
  SHAPES,
  SHORT_ARRAY,
  SHORT_OBJECT,
  type SharedPayload,
  SPECIAL_OBJECT,
  TRAILER_SIZE,
  TRAVELLER,
  UNDEFINED,
  UNIQUE_SYMBOL,
  WELL_KNOWN_SYMBOL,
} from "../bytes/index.ts";
import { notData, readCell, readFunction, readReference, readTraveller } from "../function-nodes.ts";
import type { FunctionPort, PrivateState } from "../function-port.ts";
import { NO_COLLECTIONS, readEntries, type WeakCollection } from "../weak-collections.ts";
import { freezeMade } from "./frozen-values.ts";
import { readSpecialObject } from "./special-object.ts";
import { readSymbol } from "./symbols.ts";

/** Reads what `GraphWriter` wrote. One payload at a time. */
export class GraphReader extends ByteReader {
  readonly port: FunctionPort;
  /** Functions, and instances of classes that this process does not know, are refused. */
  readonly dataOnly: boolean;
  /** With `dataOnly`: the value that is read next may be a class. */
  takesClass = false;
  binary: BinaryReader = BinaryReader.NONE;
  /** Every object that is made is frozen at the end. */
  freezes = false;
  #depth = 0;
  #remembering = false;
  #made: unknown[] = [];
  /** The number that is 0 in the segment that is being read. */
  #base = 0;
  #shapes: (readonly string[])[] = [];
  #later: (() => void)[] = [];
  #privates: { object: object; states: readonly PrivateState[] }[] = [];
  #settle: (() => void)[] = [];
  #hasEntries = false;
  #collections: Set<WeakCollection> | undefined;
  #kept: Set<object> | undefined;
  /** With `dataOnly`: the objects that were accepted as a class or prototype. They are not values. */
  #classes: Set<unknown> | undefined;

  constructor(port: FunctionPort, dataOnly = false) {
    super();
    this.port = port;
    this.dataOnly = dataOnly;
  }

  /** The value in `bytes` from `start` to `end`. With `owned`, large binary data may stay where it is. */
  read(bytes: Uint8Array, start: number, end: number, owned: boolean): unknown {
    this.open(bytes, start, end);
    if ((this.#header() & HAS_BINARY) !== 0) {
      if (this.remaining < TRAILER_SIZE) throw new MalformedPayload("the payload ends before its trailer");
      const section = readTrailer(this.bytes.subarray(end - TRAILER_SIZE, end), end - start);
      this.#openBinary(section, new DataInMemory(this.bytes, start, owned));
    }
    return this.#root();
  }

  /** The value of a payload whose binary data is elsewhere: `head` is everything before that data. */
  readHead(head: Uint8Array, section: BinarySection, data: BinaryData): unknown {
    this.open(head, 0, section.data);
    this.#header();
    this.#openBinary(section, data);
    return this.#root();
  }

  /** The value of a payload that the threads of this process share. It is frozen. */
  readShared(payload: SharedPayload): unknown {
    const { head, section } = openShared(payload);
    this.open(head, 0, head.length);
    this.#header();
    this.freezes = true;
    // Every object is numbered, so that it is found when it is frozen.
    this.#remembering = true;
    if (section !== undefined) this.#openBinary(section, new DataInShared(payload));
    const value = this.#root();
    freezeMade(this.#made, (object) => this.isKept(object));
    return value;
  }

  #header(): number {
    const header = this.byte();
    if ((header & 0xf0) !== FORMAT) {
      throw new MalformedPayload(`the payload begins with byte ${header}, which is not a supported format`);
    }
    this.#remembering = (header & HAS_REFERENCES) !== 0;
    this.#hasEntries = (header & HAS_WEAK_ENTRIES) !== 0;
    return header;
  }

  #openBinary(section: BinarySection, data: BinaryData): void {
    const resume = this.position;
    this.position = this.start + section.table;
    this.end = this.start + section.data;
    this.binary = BinaryReader.open(this, section, data);
    this.position = resume;
    this.end = this.start + section.table;
  }

  #root(): unknown {
    const value = this.value();
    if (this.#later.length > 0) this.readLater();
    if (this.#hasEntries) readEntries(this);
    if (this.position !== this.end) throw new MalformedPayload("the payload continues after its end");
    if (this.#privates.length > 0 || this.#settle.length > 0) this.#finish();
    return value;
  }

  /** Releases everything of the last payload. */
  clear(): void {
    this.close();
    this.#depth = 0;
    this.takesClass = false;
    if (this.#made.length > 0) this.#made = [];
    if (this.#base > 0) this.#base = 0;
    if (this.#shapes.length > 0) this.#shapes = [];
    if (this.#later.length > 0) this.#later = [];
    if (this.#privates.length > 0) this.#privates = [];
    if (this.#settle.length > 0) this.#settle = [];
    this.#collections = undefined;
    this.#kept = undefined;
    this.#classes = undefined;
    this.binary = BinaryReader.NONE;
  }

  value(): unknown {
    const tag = this.byte();
    if (isPrimitive(tag)) return this.primitive(tag);
    if (tag < SHORT_OBJECT) return this.#array(tag - SHORT_ARRAY);
    if (tag < UNDEFINED) return this.#object(tag - SHORT_OBJECT);
    switch (tag) {
      case ARRAY:
        return this.#array(this.count());
      case OBJECT:
        return this.#object(this.count(2));
      case BACK_REFERENCE:
        return this.#backReference();
      default:
        return tag >= RECORD ? this.#record(tag - RECORD) : this.#rare(tag);
    }
  }

  #rare(tag: number): unknown {
    switch (tag) {
      case BIGINT_64:
        return this.bigint64();
      case BIGINT:
        return this.bigint();
      case REGISTERED_SYMBOL:
      case WELL_KNOWN_SYMBOL:
      case UNIQUE_SYMBOL:
      case PLATFORM_SYMBOL:
        return readSymbol(this, tag);
      case NUMBERS:
        return this.remember(this.float64s(this.count(8)));
      case LATER_ARRAY:
        return this.#laterArray();
      case LATER_OBJECT:
        return this.#laterObject();
      case SPECIAL_OBJECT:
        return readSpecialObject(this);
      case FUNCTION:
        return readFunction(this);
      case REFERENCE:
        return readReference(this);
      case CELL:
        return readCell(this);
      case TRAVELLER:
        return readTraveller(this);
      case SEGMENT:
        return this.#segment();
      default:
        // Long strings, and bytes that are no tag.
        return this.string(tag);
    }
  }

  /** Gives `value` its number, at the same point where the writer did. */
  remember<T>(value: T): T {
    if (this.#remembering) this.#made.push(value);
    return value;
  }

  /** Calls `read` when everything before it has been read. */
  defer(read: () => void): void {
    this.#later.push(read);
  }

  /** Restores private fields when all classes are complete. */
  restoreLater(object: object, states: readonly PrivateState[]): void {
    this.#privates.push({ object, states });
  }

  /** Calls `settle` at the very end, when every object has its contents. */
  settleLater(settle: () => void): void {
    this.#settle.push(settle);
  }

  enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new MalformedPayload("the payload is nested too deep");
  }

  leave(): void {
    this.#depth--;
  }

  /** Notes a weak collection that the payload holds. */
  noteCollection(collection: WeakCollection): void {
    this.#collections ??= new Set();
    this.#collections.add(collection);
  }

  /** The weak collections that the payload read last holds. */
  takeCollections(): readonly WeakCollection[] {
    return this.#collections === undefined ? NO_COLLECTIONS : [...this.#collections];
  }

  /** With `dataOnly`: reads a class or a prototype. A prototype may also be a plain object. */
  classNext(): unknown {
    const tag = this.bytes[this.position];
    this.takesClass = tag === FUNCTION || tag === REFERENCE || tag === BACK_REFERENCE;
    const value = this.value();
    this.takesClass = false;
    return value;
  }

  /** Notes an object that was accepted as a class or prototype, not as a value. */
  noteClass(known: unknown): void {
    this.#classes ??= new Set();
    this.#classes.add(known);
  }

  isClass(value: unknown): boolean {
    return this.#classes?.has(value) === true;
  }

  /** Notes an object that existed before the payload: the payload must not change it. */
  keep(object: object): void {
    this.#kept ??= new Set();
    this.#kept.add(object);
  }

  isKept(object: object): boolean {
    return this.#kept?.has(object) === true;
  }

  /** Reads everything that was put off. */
  readLater(): void {
    // Reading these may defer more.
    const later = this.#later;
    for (let index = 0; index < later.length; index++) later[index]?.();
    this.#later = [];
  }

  #finish(): void {
    for (const { object, states } of this.#privates) this.port.restorePrivates(object, states);
    for (const settle of this.#settle) settle();
  }

  #array(length: number): unknown[] {
    const array: unknown[] = [];
    if (this.#remembering) this.#made.push(array);
    this.enter();
    for (let index = 0; index < length; index++) array.push(this.value());
    this.#depth--;
    return array;
  }

  #object(count: number): object {
    const object: Record<string, unknown> = {};
    if (this.#remembering) this.#made.push(object);
    const keys = this.#keys(count);
    if (count > 0 && this.#shapes.length < SHAPES) this.#shapes.push(keys);
    this.enter();
    this.#properties(object, keys);
    this.#depth--;
    return object;
  }

  #record(shape: number): object {
    const keys = this.#shapes[shape];
    if (keys === undefined) throw new MalformedPayload("the payload refers to keys that are not in it");
    const object: Record<string, unknown> = {};
    if (this.#remembering) this.#made.push(object);
    this.enter();
    this.#properties(object, keys);
    this.#depth--;
    return object;
  }

  #keys(count: number): string[] {
    const keys: string[] = [];
    for (let index = 0; index < count; index++) {
      const key = this.key();
      if (key === undefined || key === "__proto__") {
        throw new MalformedPayload("a plain object in the payload has a key that it cannot have");
      }
      keys.push(key);
    }
    return keys;
  }

  #properties(object: Record<string, unknown>, keys: readonly string[]): void {
    for (let index = 0; index < keys.length; index++) object[keys[index] ?? ""] = this.value();
  }

  #laterArray(): unknown[] {
    const length = this.count();
    const array: unknown[] = this.remember([]);
    this.defer(() => {
      for (let index = 0; index < length; index++) array.push(this.value());
    });
    return array;
  }

  #laterObject(): object {
    const object: Record<string, unknown> = this.remember({});
    this.defer(() => this.#properties(object, this.#keys(this.count(2))));
    return object;
  }

  /** Reads a value that was written by itself, with what it put off: its numbers and its lists of keys are its own. */
  #segment(): unknown {
    const [base, shapes, later] = [this.#base, this.#shapes, this.#later];
    this.#base = this.#made.length;
    this.#shapes = [];
    this.#later = [];
    this.enter();
    const value = this.value();
    if (this.#later.length > 0) this.readLater();
    this.leave();
    this.#base = base;
    this.#shapes = shapes;
    this.#later = later;
    return value;
  }

  #backReference(): unknown {
    const index = this.#base + this.varint();
    if (index >= this.#made.length) throw new MalformedPayload("the payload refers to an object that is not in it");
    const value = this.#made[index];
    if (this.#classes !== undefined && !this.takesClass && this.isClass(value)) throw notData(value);
    return value;
  }
}
