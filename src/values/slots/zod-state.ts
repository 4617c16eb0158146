import { MalformedPayload } from "../bytes/index.ts";
import { constructorOf, ownProperty } from "../own-property.ts";
import type { InternalState } from "./internal-state.ts";

/** A class of zod 4. It turns any object that inherits from it into an instance. */
type ZodClass = (this: object, def: object) => unknown;

/**
 * Schemas and checks of zod 4. Their classes give each instance its parts, and fill their own prototypes when the first
 * one is made. So an instance travels as its definition, and its class makes it again, as `clone` of zod does. What zod
 * gave it after that, as `superRefine` does, travels beside the definition.
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
    writer.value(zodAdditions(schema));
  },
  readBody(reader, schema) {
    const def = reader.value();
    const metadata = reader.value();
    const additions = reader.value();
    if (!isData(def)) throw new MalformedPayload("a schema in the payload has no definition");
    arriving.set(schema, { def, additions });
    reader.settleLater(() => {
      make(schema);
      if (metadata !== undefined) call(registry(), "add", schema, metadata);
    });
  },
  implies: () => true,
  leads: (schema) => [
    { label: "._zod.def", value: zodDefinition(schema) },
    { label: "._zod", value: zodAdditions(schema) },
  ],
};

/** The definition of a schema or check of zod 4; undefined for anything else. */
export function zodDefinition(value: object): object | undefined {
  const internals = ownProperty(value, "_zod")?.value;
  if (!isData(internals)) return undefined;
  const def = ownProperty(internals, "def")?.value;
  const isMade = classOf(value) !== undefined && ownProperty(internals, "constr")?.value === classOf(value);
  return isMade && isData(def) ? def : undefined;
}

/** What an instance has in `_zod` that its class did not put there. */
interface Additions {
  readonly members: Readonly<Record<string, unknown>>;
  readonly bag: Readonly<Record<string, unknown>>;
}

/** What zod has found out about instances, which do not change once they are made. */
const found = new WeakMap<object, Additions | undefined>();

/**
 * What was added to a schema or check after its class had made it: the function of a check, as of `superRefine` and
 * `instanceof`, what happens when a check is attached, as of `meta`, and entries of its bag. Undefined for most.
 */
export function zodAdditions(instance: object): Additions | undefined {
  if (!found.has(instance)) found.set(instance, findAdditions(instance));
  return found.get(instance);
}

/** Compares an instance with another one that its class makes from the same definition. */
function findAdditions(instance: object): Additions | undefined {
  const [cls, def] = [classOf(instance), zodDefinition(instance)];
  if (cls === undefined || def === undefined) return undefined;
  const fresh: object = Object.create(Object.getPrototypeOf(instance));
  Reflect.apply(cls, fresh, [def]);
  const [own, usual] = [internalsOf(instance), internalsOf(fresh)];
  const members: Record<string, unknown> = {};
  const bag: Record<string, unknown> = {};
  for (const key of ["check", "onattach"]) if (!isAlike(own[key], usual[key])) members[key] = own[key];
  const [ownBag, usualBag] = [recordIn(own["bag"]), recordIn(usual["bag"])];
  for (const key of Object.keys(ownBag)) if (!(key in usualBag)) bag[key] = ownBag[key];
  return Object.keys(members).length + Object.keys(bag).length === 0 ? undefined : { members, bag };
}

/** True for the same function, made another time, and for lists of such functions. */
function isAlike(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, index) => isAlike(each, other[index]));
  }
  if (typeof one !== "function" || typeof other !== "function") return one === other;
  return one === other || String(one) === String(other);
}

function addTo(instance: object, additions: unknown): void {
  if (!isData(additions)) return;
  const { members, bag } = recordIn(additions);
  const internals = internalsOf(instance);
  Object.assign(internals, members);
  Object.assign(recordIn(internals["bag"]), bag);
}

function internalsOf(instance: object): Record<string, unknown> {
  return recordIn(ownProperty(instance, "_zod")?.value);
}

function recordIn(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isData(value);
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

/** What schemas will be made of that are not made yet, because their classes may not be complete. */
const arriving = new WeakMap<object, { readonly def: object; readonly additions: unknown }>();

/** Makes a schema, after the schemas in its definition: some classes use them at once. */
function make(schema: object): void {
  const parts = arriving.get(schema);
  if (parts === undefined) return;
  arriving.delete(schema);
  const cls = classOf(schema);
  if (cls === undefined) throw new MalformedPayload("a schema in the payload has no class of zod");
  for (const inner of schemasIn(parts.def, 0)) make(inner);
  Reflect.apply(cls, schema, [parts.def]);
  // A schema runs what belongs to its checks when it is made, so they are complete before.
  addTo(schema, parts.additions);
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
