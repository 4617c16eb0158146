import { inspect, types } from "node:util";
import { arrayIndex } from "../array-index.ts";
import { isSharedMemory, MAX_RESERVED, MalformedPayload, maxByteLengthOf } from "../bytes/index.ts";
import { builtInGetter } from "../own-property.ts";
import { NAMES_ONLY } from "../plain-shape.ts";
import { ValueRefusal } from "../value-refusal.ts";
import type { InternalState } from "./internal-state.ts";

interface ViewKind {
  readonly name: string;
  readonly prototype: object;
  /** Bytes of an element. */
  readonly unit: number;
  make(buffer: ArrayBufferLike, offset: number, length: number | undefined): ArrayBufferView;
}

type ViewConstructor = new (buffer: ArrayBufferLike, offset: number, length?: number) => ArrayBufferView;

function viewKind(constructor: ViewConstructor & { readonly name: string; readonly prototype: object }): ViewKind {
  const unit: unknown = Reflect.get(constructor, "BYTES_PER_ELEMENT");
  return {
    name: constructor.name,
    prototype: constructor.prototype,
    unit: typeof unit === "number" ? unit : 1,
    make: (buffer, offset, length) => new constructor(buffer, offset, length),
  };
}

/** From this size on, comparing what `inspect` shows beside the elements is cheaper than listing all keys. */
const LISTED_SIZE = 64;
const BUFFER = 0;
const DATA_VIEW = 1;
const kinds: (ViewKind | undefined)[] = [
  {
    name: "Buffer",
    prototype: Buffer.prototype,
    unit: 1,
    make: (buffer, offset, length) => Buffer.from(buffer, offset, length),
  },
  viewKind(DataView),
  viewKind(Uint8Array),
  viewKind(Int8Array),
  viewKind(Uint8ClampedArray),
  viewKind(Int16Array),
  viewKind(Uint16Array),
  viewKind(Int32Array),
  viewKind(Uint32Array),
  viewKind(Float32Array),
  viewKind(Float64Array),
  viewKind(BigInt64Array),
  viewKind(BigUint64Array),
  float16Kind(),
];

function float16Kind(): ViewKind | undefined {
  const constructor: unknown = Reflect.get(globalThis, "Float16Array");
  return isViewConstructor(constructor) ? viewKind(constructor) : undefined;
}

function isViewConstructor(value: unknown): value is ViewConstructor & { name: string; prototype: object } {
  return typeof value === "function";
}

/** The last text of `inspect` for a view without other properties: arguments of one size are often repeated. */
let lastText = "";

/** The name of a typed array's kind, which no subclass can change. */
const tagOf = builtInGetter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

const byteLengthOf = builtInGetter(DataView.prototype, "byteLength");

/**
 * Prototypes by kind of buffer. Memory of a shared value arrives as an ordinary buffer, or as memory of another shared
 * value.
 */
const bufferPrototypes: readonly object[] = [ArrayBuffer.prototype, SharedArrayBuffer.prototype];

/** Array buffers, resizable ones included, and the memory of shared values. */
export const arrayBufferState: InternalState<ArrayBufferLike> = {
  number: 9,
  is: (value): value is ArrayBufferLike => types.isArrayBuffer(value) || isSharedMemory(value),
  variant: (buffer) => (types.isSharedArrayBuffer(buffer) ? 1 : 0),
  prototype: (variant) => bufferPrototypes[variant],
  writeShell(writer, buffer) {
    checkBuffer(buffer, buffer);
    writer.varint(writer.binary.whole(buffer));
  },
  readShell: (reader) => reader.binary.whole(reader.varint()),
};

/** Typed arrays, `DataView`s and `Buffer`s. Views on one buffer stay views on one buffer. */
export const viewState: InternalState<ArrayBufferView> = {
  number: 10,
  is: (value): value is ArrayBufferView => types.isArrayBufferView(value),
  variant: kindOf,
  prototype: (variant) => kinds[variant]?.prototype,
  writeShell(writer, view) {
    const buffer = arrayBufferOf(view);
    checkBuffer(view, buffer);
    checkBounds(view, buffer);
    const { byteOffset, byteLength } = view;
    const kind = kinds[kindOf(view, Object.getPrototypeOf(view))];
    const unit = kind?.unit ?? 1;
    const loose = kind === kinds[BUFFER];
    writer.varint(writer.binary.window(buffer, byteOffset, byteLength, unit, loose));
    writer.varint(byteOffset);
    writer.varint(tracksLength(view, buffer) ? 0 : byteLength / unit + 1);
  },
  readShell(reader, variant) {
    const kind = kinds[variant];
    const index = reader.varint();
    const offset = reader.varint();
    const length = reader.varint() - 1;
    if (kind === undefined) throw new MalformedPayload("a view in the payload is of an unknown kind");
    const place = reader.binary.window(index, offset, Math.max(0, length) * kind.unit, kind.unit);
    return kind.make(place.buffer, place.offset, length < 0 ? undefined : length);
  },
  hasOnlyState(view) {
    if (tagOf(view) === undefined || view.byteLength < LISTED_SIZE) return false;
    // Listing the keys of a long view costs more than copying it. A fresh view on the same bytes has no other
    // properties.
    const text = inspect(view, NAMES_ONLY);
    if (text === lastText) return true;
    const twin = kinds[kindOf(view, Object.getPrototypeOf(view))];
    const fresh = twin?.make(arrayBufferOf(view), view.byteOffset, view.byteLength / twin.unit);
    if (text !== inspect(fresh, NAMES_ONLY)) return false;
    lastText = text;
    return true;
  },
  implies: (view, key) => tagOf(view) !== undefined && arrayIndex(key) >= 0,
  summary(view) {
    const isComparable = view.byteLength <= COMPARED_SIZE && !types.isSharedArrayBuffer(view.buffer);
    // A value that equals no other means: it may have changed.
    if (!isComparable || !hasOnlyElements(view)) return Symbol("unknown");
    return Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("latin1");
  },
};

/** Above this size, comparing costs about as much as sending the bytes again, and needs a copy. */
const COMPARED_SIZE = 65_536;

function hasOnlyElements(view: ArrayBufferView): boolean {
  if (tagOf(view) === undefined || view.byteLength < LISTED_SIZE) {
    return Reflect.ownKeys(view).every((key) => arrayIndex(key) >= 0);
  }
  return viewState.hasOnlyState?.(view) === true;
}

function kindOf(view: ArrayBufferView, prototype: object | null): number {
  if (prototype === Buffer.prototype) return BUFFER;
  const name = tagOf(view);
  if (name === undefined) return DATA_VIEW;
  return kinds.findIndex((kind) => kind?.name === name);
}

function checkBuffer(owner: object, buffer: ArrayBufferLike): void {
  if (buffer.byteLength === 0 && isDetached(buffer)) {
    throw new ValueRefusal(owner, "a transferred ArrayBuffer has no bytes left", "Pass it before transferring it.");
  }
  if ((maxByteLengthOf(buffer) ?? 0) > MAX_RESERVED) {
    throw new ValueRefusal(
      owner,
      "an ArrayBuffer that may grow beyond 4 GiB is too large to travel",
      "Give the ArrayBuffer a smaller maxByteLength.",
    );
  }
}

/** Refuses a view beyond the end of its shrunk buffer: it has no bytes until the buffer grows again. */
function checkBounds(view: ArrayBufferView, buffer: ArrayBufferLike): void {
  if (maxByteLengthOf(buffer) === undefined) return;
  try {
    // Both throw for a view out of bounds; other getters just return 0.
    if (tagOf(view) === undefined) byteLengthOf(view);
    else Reflect.apply(Uint8Array.prototype.keys, view, []);
  } catch {
    throw new ValueRefusal(
      view,
      "a view beyond the end of its shrunk ArrayBuffer has no bytes",
      "Make a view on the bytes that are left.",
    );
  }
}

function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

function arrayBufferOf(view: ArrayBufferView): ArrayBufferLike {
  const { buffer } = view;
  if (types.isArrayBuffer(buffer) || isSharedMemory(buffer)) return buffer;
  throw new ValueRefusal(
    view,
    "a view on a SharedArrayBuffer refers to memory of this process",
    "Pass a copy, such as view.slice().",
  );
}

/** True when the view grows and shrinks with its buffer. Only a resize shows that. */
function tracksLength(view: ArrayBufferView, buffer: ArrayBufferLike): boolean {
  const limit = maxByteLengthOf(buffer);
  if (limit === undefined || view.byteOffset + view.byteLength > buffer.byteLength) return false;
  const size = buffer.byteLength;
  const resize = (length: number): void => {
    Reflect.apply(Reflect.get(buffer, "resize"), buffer, [length]);
  };
  const before = view.byteLength;
  if (size + 8 <= limit) {
    resize(size + 8);
    const tracks = view.byteLength !== before;
    resize(size);
    return tracks;
  }
  if (before < 8) return false;
  const tail = new Uint8Array(buffer).slice(size - 8);
  resize(size - 8);
  const tracks = view.byteLength !== 0 && view.byteLength !== before;
  resize(size);
  new Uint8Array(buffer).set(tail, size - 8);
  return tracks;
}
