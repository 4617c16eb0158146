import { CELL, FUNCTION, MalformedPayload, REFERENCE, TRAVELLER } from "./bytes/index.ts";
import {
  type Assembled,
  byReference,
  createCell,
  type Dismantled,
  isCell,
  type PlainData,
  ShippingError,
} from "./function-port.ts";
import type { GraphReader, GraphWriter } from "./graph/index.ts";
import { travellerKind, travellerKindOf } from "./traveller.ts";
import { ValueRefusal } from "./value-refusal.ts";

/** Writes a function or class. Its captured values are written later, so that they may refer back to the function. */
export function writeFunction(writer: GraphWriter, fn: object, holder?: object): void {
  if (writer.refer(fn)) return;
  if (writer.functions++ === 0) writer.began = performance.now();
  if (travellerKindOf(fn) !== undefined && (writeReference(writer, fn) || writeTraveller(writer, fn))) return;
  const dismantled = orRefuse(fn, () => writer.port.dismantle(fn, holder));
  writeHead(writer, FUNCTION, fn, dismantled);
  writer.defer(() => writeAll(writer, dismantled.parts));
}

/** Reads a function whose tag has been read. */
export function readFunction(reader: GraphReader): unknown {
  if (reader.dataOnly) {
    const known = readKnown(reader);
    reader.defer(() => void readAll(reader));
    return known;
  }
  const assembled = readHead(reader);
  reader.defer(() => assembled.complete(readAll(reader)));
  return assembled.value;
}

/** Writes an object or symbol that both sides have, by its name; false for other values. */
export function writeReference(writer: GraphWriter, value: object | symbol): boolean {
  const reference = orRefuse(value, () => writer.port.referenceOf(value));
  if (reference === undefined) return false;
  writeHead(writer, REFERENCE, value, reference);
  return true;
}

/** Reads a reference whose tag has been read. */
export function readReference(reader: GraphReader): unknown {
  if (reader.dataOnly) return readKnown(reader);
  const assembled = readHead(reader);
  assembled.complete([]);
  const { value } = assembled;
  // It existed before the payload, so it must not be frozen.
  if (reader.freezes && typeof value === "object" && value !== null) reader.keep(value);
  return value;
}

function writeHead(writer: GraphWriter, tag: number, value: WeakKey, dismantled: Dismantled): void {
  writer.need(dismantled.dependencies);
  writer.byte(tag);
  writer.enter(value);
  writer.value(dismantled.head);
  try {
    writeAll(writer, dismantled.early);
  } catch (error) {
    throw heldBy(value, error);
  }
  writer.leave();
  writer.remember(value);
}

/** Notes in a refusal that `holder` needs what was refused. */
export function heldBy(holder: WeakKey, error: unknown): unknown {
  if (error instanceof ValueRefusal && typeof holder !== "symbol") error.holders.push(holder);
  return error;
}

function readHead(reader: GraphReader): Assembled {
  reader.enter();
  const head = readPlainData(reader);
  const early = readAll(reader);
  reader.leave();
  const assembled = reader.port.assemble(head, early);
  reader.remember(assembled.value);
  return assembled;
}

/**
 * Reads a function or reference with `dataOnly`. Accepts symbols, and classes and prototypes of instances that this
 * process knows.
 */
function readKnown(reader: GraphReader): unknown {
  const isClass = reader.takesClass;
  reader.enter();
  reader.takesClass = false;
  const head = readPlainData(reader);
  // The parts of a class may be classes. They are not values in the payload.
  const early = Array.from({ length: reader.count() }, () => (isClass ? reader.classNext() : reader.value()));
  reader.takesClass = isClass;
  reader.leave();
  const known = reader.port.findKnown(head, early);
  if (!isClass && typeof known !== "symbol") throw notData(known);
  if (known === undefined) throw new NotData(`holds an instance of ${nameIn(head)}, a class that is not known here`);
  reader.remember(known);
  // Anywhere else in the payload the class would be a value.
  if (typeof known !== "symbol") reader.noteClass(known);
  return known;
}

/** Thrown with `dataOnly` for a value that is more than data. */
export class NotData extends Error {
  override readonly name = "NotData";
}

/** The error for a function or object of this process, with `dataOnly`. */
export function notData(known: unknown): NotData {
  return new NotData(`holds ${typeof known === "object" ? "an object of this process" : "a function"}`);
}

function nameIn(head: PlainData): string {
  if (typeof head !== "object" || head === null || Array.isArray(head)) return "a class";
  const name = "name" in head ? head.name : "path" in head && Array.isArray(head.path) ? head.path.at(-1) : undefined;
  return typeof name === "string" && name !== "" ? name : "a class without a name";
}

/** Writes a variable that functions share; false when `value` is not one. */
export function writeCell(writer: GraphWriter, value: object): boolean {
  if (!isCell(value)) return false;
  writer.byte(CELL);
  writer.remember(value);
  writer.defer(() => writer.value(value.v));
  return true;
}

/** Reads a shared variable whose tag has been read. */
export function readCell(reader: GraphReader): object {
  const cell = createCell();
  reader.remember(cell);
  reader.defer(() => {
    cell.v = reader.value();
  });
  return cell;
}

/** Writes an object that has its own way to travel; false when it has none. */
export function writeTraveller(writer: GraphWriter, value: object): boolean {
  const name = travellerKindOf(value);
  if (name === undefined) return false;
  if (byReference in value && writeReference(writer, value)) return true;
  const kind = travellerKind(name);
  if (kind === undefined) {
    throw new ValueRefusal(
      value,
      `an object of the kind "${name}" is not known here`,
      "Import the module that registers it.",
    );
  }
  const parts = kind.take(value, writer.port);
  writer.need(kind.needs?.(value, writer.port) ?? []);
  writer.byte(TRAVELLER);
  writer.string(name);
  writer.remember(value);
  writer.defer(() => writeAll(writer, parts));
  return true;
}

/** Reads a traveller whose tag has been read. */
export function readTraveller(reader: GraphReader): object {
  const name = reader.text();
  const kind = travellerKind(name);
  if (kind === undefined) {
    throw new MalformedPayload(`the payload holds an object of the kind "${name}", which is not known here`);
  }
  const shell = kind.make(reader.port);
  if (reader.dataOnly && typeof shell.value === "function") throw notData(shell.value);
  reader.remember(shell.value);
  reader.defer(() => shell.complete(readAll(reader)));
  return shell.value;
}

/** Asks the port about `culprit`. Turns a `ShippingError` into a `ValueRefusal` of `culprit`. */
export function orRefuse<T>(culprit: WeakKey, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof ShippingError)) throw error;
    throw new ValueRefusal(culprit, error.message, error.fix, error.path, error);
  }
}

function writeAll(writer: GraphWriter, values: readonly unknown[]): void {
  writer.varint(values.length);
  if (values.length > 1) writer.port.foresee?.(values);
  for (const value of values) writer.value(value);
}

function readAll(reader: GraphReader): unknown[] {
  const count = reader.count();
  const values: unknown[] = [];
  for (let index = 0; index < count; index++) values.push(reader.value());
  return values;
}

function readPlainData(reader: GraphReader): PlainData {
  const head = reader.value();
  if (!isPlainData(head, 0)) throw new MalformedPayload("the description of a function is not plain data");
  return head;
}

function isPlainData(value: unknown, depth: number): value is PlainData {
  if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string")
    return true;
  if (typeof value !== "object" || depth > 100) return false;
  // The readers call methods of arrays, which hostile bytes could have replaced.
  const usual = Array.isArray(value) ? Array.prototype : Object.prototype;
  if (Object.getPrototypeOf(value) !== usual) return false;
  if (Array.isArray(value) && Reflect.ownKeys(value).length !== value.length + 1) return false;
  return Object.values(value).every((item) => isPlainData(item, depth + 1));
}
