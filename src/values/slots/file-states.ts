import { types } from "node:util";
import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter, ownProperty } from "../own-property.ts";
import { ValueRefusal } from "../value-refusal.ts";
import type { InternalState } from "./internal-state.ts";
import { inheritedClass, platformKeys, succeeds } from "./platform-class.ts";

const sizeOf = builtInGetter(Blob.prototype, "size");
const typeOf = builtInGetter(Blob.prototype, "type");
const nameOf = builtInGetter(File.prototype, "name");
const lastModifiedOf = builtInGetter(File.prototype, "lastModified");

const PLAIN = 0;
const NAMED = 1;

/** Blobs and files that are in memory. */
export const blobState: InternalState<Blob> = {
  number: 21,
  is: (value): value is Blob => succeeds(() => sizeOf(value)),
  variant: (blob) => (isFile(blob) ? NAMED : PLAIN),
  prototype: (variant) => (variant === PLAIN ? Blob.prototype : variant === NAMED ? File.prototype : undefined),
  writeShell(writer, blob) {
    const bytes = bytesOf(blob);
    writer.string(String(typeOf(blob)));
    writer.varint(writer.binary.whole(bytes));
    if (!isFile(blob)) return;
    writer.string(String(nameOf(blob)));
    writer.number(Number(lastModifiedOf(blob)));
  },
  readShell(reader, variant) {
    const type = reader.text();
    const bytes = reader.binary.bytes(reader.varint());
    if (variant === PLAIN) return new Blob([bytes], { type });
    const name = reader.text();
    const lastModified = reader.value();
    if (typeof lastModified !== "number")
      throw new MalformedPayload("the date of a file in the payload is not a number");
    return new File([bytes], name, { type, lastModified });
  },
  // Node.js 22 makes some blobs, such as slices and those of files, with an internal class.
  publicPrototype: (prototype) =>
    classNameOf(prototype) === "TransferableBlob" ? Object.getPrototypeOf(prototype) : prototype,
  implies: (_blob, key) => key === "constructor" || isKeyOfBlob(key) || isKeyOfFile(key),
};

function classNameOf(prototype: object): unknown {
  const constructor: unknown = ownProperty(prototype, "constructor")?.value;
  return typeof constructor === "function" ? constructor.name : undefined;
}

const isKeyOfBlob = platformKeys(() => new Blob([]));
const isKeyOfFile = platformKeys(() => new File([], ""));

function isFile(blob: Blob): boolean {
  return inheritedClass(blob, FILE_ONLY) !== undefined;
}

const FILE_ONLY: ReadonlySet<string> = new Set(["File"]);

/**
 * The bytes of a blob. The public API offers only promises for them. The internal handle gives bytes in memory at once.
 * Bytes in a file would be read over time, so such a blob is refused.
 */
function bytesOf(blob: Blob): ArrayBuffer {
  const pieces = piecesOf(blob);
  const length = (pieces ?? []).reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (pieces === undefined || length !== sizeOf(blob)) {
    throw new ValueRefusal(
      blob,
      `${isFile(blob) ? "File" : "Blob"} does not have its bytes in memory`,
      "Pass its bytes: await blob.arrayBuffer().",
    );
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : joined(pieces, length);
}

function joined(pieces: readonly ArrayBuffer[], length: number): ArrayBuffer {
  const bytes = new Uint8Array(length);
  let end = 0;
  for (const piece of pieces) {
    bytes.set(new Uint8Array(piece), end);
    end += piece.byteLength;
  }
  return bytes.buffer;
}

/** The pieces from the handle of a blob; undefined when there is no handle or it does not give them at once. */
function piecesOf(blob: Blob): ArrayBuffer[] | undefined {
  const key = Object.getOwnPropertySymbols(blob).find(({ description }) => description === "kHandle");
  const handle = key === undefined ? undefined : ownProperty(blob, key)?.value;
  const reader = call(handle, "getReader");
  if (reader === undefined) return undefined;
  const pieces: ArrayBuffer[] = [];
  for (;;) {
    let answer: number | undefined;
    call(reader, "pull", (status: number, piece: unknown) => {
      answer = status;
      if (types.isArrayBuffer(piece)) pieces.push(piece);
    });
    if (answer === 0) return pieces;
    if (answer === undefined || answer < 0) return undefined;
  }
}

function call(holder: unknown, name: string, ...args: readonly unknown[]): unknown {
  const member: unknown = typeof holder === "object" && holder !== null ? Reflect.get(holder, name) : undefined;
  return typeof member === "function" ? Reflect.apply(member, holder, args) : undefined;
}

/** `FormData` with its entries. */
export const formDataState: InternalState<FormData> = {
  number: 19,
  is: (value): value is FormData => succeeds(() => entriesOf(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? FormData.prototype : undefined),
  writeShell: () => {},
  readShell: () => new FormData(),
  writeBody(writer, form) {
    const entries = entriesOf(form);
    writer.varint(entries.length);
    for (const [name, value] of entries) {
      writer.string(name);
      writer.value(value);
    }
  },
  readBody(reader, form) {
    for (let left = reader.count(2); left > 0; left--) {
      const name = reader.text();
      const value = reader.value();
      const isBlob = typeof value === "object" && value !== null && blobState.is(value);
      if (typeof value !== "string" && !isBlob) {
        throw new MalformedPayload("an entry of a form in the payload is neither text nor a file");
      }
      // A subclass may have its own `append`, which must not run.
      Reflect.apply(FormData.prototype.append, form, [name, value]);
    }
  },
  implies: (_form, key) => isKeyOfForm(key),
  leads: (form) => entriesOf(form).map(([name, value]) => ({ label: `.get(${JSON.stringify(name)})`, value })),
};

const isKeyOfForm = platformKeys(() => new FormData());

function entriesOf(form: object): [string, unknown][] {
  const entries: [string, unknown][] = [];
  const add = (value: unknown, name: string): void => {
    entries.push([name, value]);
  };
  Reflect.apply(FormData.prototype.forEach, form, [add]);
  return entries;
}
