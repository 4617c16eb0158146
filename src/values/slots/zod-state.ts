import { MalformedPayload } from "../bytes/index.ts";
import { constructorOf, ownProperty } from "../own-property.ts";
import type { InternalState } from "./internal-state.ts";

/** A class of zod 4. It turns any object that inherits from it into an instance. */
type ZodClass = (this: object, def: object) => unknown;

/**
 * Schemas and checks of zod 4. Their classes give each instance its parts, and fill their own prototypes when the first
 * one is made. So an instance travels as its definition, and its class makes it again, as `clone` of zod does.
 */
export const zodState: InternalState = {
  number: 22,
  is: (value): value is object => zodDefinition(value) !== undefined,
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Object.prototype : undefined),
  writeShell: () => {},
  readShell: () => ({}),
  writeBody(writer, schema) {
    writer.value(zodDefinition(schema));
    writer.value(metadataOf(schema));
  },
  readBody(reader, schema) {
    const def = reader.value();
    const metadata = reader.value();
    if (!isData(def)) throw new MalformedPayload("a schema in the payload has no definition");
    arriving.set(schema, def);
    reader.settleLater(() => {
      make(schema);
      if (metadata !== undefined) call(registry(), "add", schema, metadata);
    });
  },
  implies: () => true,
  leads: (schema) => [{ label: "._zod.def", value: zodDefinition(schema) }],
};

/** The definition of a schema or check of zod 4; undefined for anything else. */
export function zodDefinition(value: object): object | undefined {
  const internals = ownProperty(value, "_zod")?.value;
  if (!isData(internals)) return undefined;
  const def = ownProperty(internals, "def")?.value;
  const isMade = classOf(value) !== undefined && ownProperty(internals, "constr")?.value === classOf(value);
  return isMade && isData(def) ? def : undefined;
}

/** The class of an instance, if zod made that class. */
function classOf(instance: object): ZodClass | undefined {
  const prototype: object | null = Object.getPrototypeOf(instance);
  const cls = prototype === null ? undefined : constructorOf(prototype);
  return isZodClass(cls) ? cls : undefined;
}

function isZodClass(value: unknown): value is ZodClass {
  if (typeof value !== "function") return false;
  return typeof ownProperty(value, "init")?.value === "function" && Object.hasOwn(value, Symbol.hasInstance);
}

/** The definitions of schemas that are not made yet, because their classes may not be complete. */
const arriving = new WeakMap<object, object>();

/** Makes a schema, after the schemas in its definition: some classes use them at once. */
function make(schema: object): void {
  const def = arriving.get(schema);
  if (def === undefined) return;
  arriving.delete(schema);
  const cls = classOf(schema);
  if (cls === undefined) throw new MalformedPayload("a schema in the payload has no class of zod");
  for (const inner of schemasIn(def, 0)) make(inner);
  Reflect.apply(cls, schema, [def]);
}

/** The schemas that a definition holds: itself, in a list, or in the properties of an object. */
function* schemasIn(value: unknown, depth: number): Generator<object> {
  if (!isData(value)) return;
  if (arriving.has(value)) yield value;
  else if (depth < 3) for (const key of Object.keys(value)) yield* schemasIn(ownProperty(value, key)?.value, depth + 1);
}

/** The metadata of a schema from `describe` and `meta`. */
function metadataOf(schema: object): unknown {
  return call(registry(), "get", schema);
}

/** The registry of such metadata, shared by all copies of zod in a process. */
function registry(): unknown {
  return Reflect.get(globalThis, "__zod_globalRegistry");
}

function call(holder: unknown, name: string, ...args: readonly unknown[]): unknown {
  const member: unknown = isData(holder) ? Reflect.get(holder, name) : undefined;
  return typeof member === "function" ? Reflect.apply(member, holder, args) : undefined;
}

function isData(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
