import { EventEmitter } from "node:events";
import { Dirent } from "node:fs";
import {
  MalformedPayload,
  PLATFORM_SYMBOL,
  REGISTERED_SYMBOL,
  UNIQUE_SYMBOL,
  WELL_KNOWN_SYMBOL,
} from "../bytes/index.ts";
import { writeReference } from "../function-nodes.ts";
import { type FunctionPort, PortableIds } from "../function-port.ts";
import type { GraphReader } from "./graph-reader.ts";
import type { GraphWriter } from "./graph-writer.ts";

const wellKnownByName = new Map<string, symbol>();
const wellKnownNames = new Map<symbol, string>();
for (const name of Object.getOwnPropertyNames(Symbol)) {
  const symbol: unknown = Reflect.get(Symbol, name);
  if (typeof symbol !== "symbol") continue;
  wellKnownByName.set(name, symbol);
  wellKnownNames.set(symbol, name);
}

/** Internal symbols of Node.js that are on objects that may travel, by description. */
let platformSymbols: Map<string, symbol> | undefined;

function platform(): Map<string, symbol> {
  if (platformSymbols === undefined) {
    platformSymbols = new Map();
    for (const object of [EventEmitter.prototype, new EventEmitter(), Reflect.construct(Dirent, ["", 1, ""])]) {
      for (const symbol of Object.getOwnPropertySymbols(object)) {
        if (symbol.description !== undefined) platformSymbols.set(symbol.description, symbol);
      }
    }
  }
  return platformSymbols;
}

/** Writes a symbol: by name if both sides have it, otherwise with an id by which it is recognised in other payloads. */
export function writeSymbol(writer: GraphWriter, symbol: symbol): void {
  const registered = Symbol.keyFor(symbol);
  if (registered !== undefined) {
    writer.byte(REGISTERED_SYMBOL);
    writer.string(registered);
    return;
  }
  const name = wellKnownNames.get(symbol);
  if (name !== undefined) {
    writer.byte(WELL_KNOWN_SYMBOL);
    writer.string(name);
    return;
  }
  if (writer.refer(symbol)) return;
  if (isPlatformSymbol(symbol)) {
    writer.byte(PLATFORM_SYMBOL);
    writer.string(symbol.description ?? "");
    return;
  }
  if (writeReference(writer, symbol)) return;
  writer.remember(symbol);
  writer.byte(UNIQUE_SYMBOL);
  writer.value(symbol.description);
  writer.string(symbolId(symbol));
}

/** True for a symbol that only this process and its peers have. */
export function isUnique(port: FunctionPort, symbol: symbol): boolean {
  if (Symbol.keyFor(symbol) !== undefined || wellKnownNames.has(symbol)) return false;
  return !isPlatformSymbol(symbol) && port.referenceOf(symbol) === undefined;
}

function isPlatformSymbol(symbol: symbol): boolean {
  return symbol.description !== undefined && platform().get(symbol.description) === symbol;
}

/** Reads a symbol whose tag has been read. */
export function readSymbol(reader: GraphReader, tag: number): symbol {
  if (tag === REGISTERED_SYMBOL) return Symbol.for(reader.text());
  if (tag === WELL_KNOWN_SYMBOL) {
    const name = reader.text();
    const symbol = wellKnownByName.get(name);
    if (symbol === undefined) throw new MalformedPayload(`Symbol.${name} is not known to this version of Node.js`);
    return symbol;
  }
  if (tag === PLATFORM_SYMBOL) {
    const description = reader.text();
    return platform().get(description) ?? Symbol(description);
  }
  const description = reader.value();
  if (description !== undefined && typeof description !== "string") {
    throw new MalformedPayload("the description of a symbol in the payload is not a string");
  }
  const symbol = symbolWithId(reader.text(), description);
  reader.remember(symbol);
  return symbol;
}

const symbols = new PortableIds<symbol>();

/** The id of a unique symbol. It is the same in every process. */
export function symbolId(symbol: symbol): string {
  return symbols.identify(symbol);
}

/** The symbol with that id: the original at its origin; elsewhere its stand-in, the same one for as long as it is in use. */
export function symbolWithId(id: string, description: string | undefined): symbol {
  const existing = symbols.find(id);
  if (existing !== undefined) return existing;
  const symbol = Symbol(description);
  symbols.adopt(symbol, id);
  return symbol;
}
