import { inspect, types } from "node:util";
import { isObject } from "../../checks/index.ts";
import {
  Borrowed,
  type DismantledWithReason,
  dismantleWithReason,
  ownNameCalled,
  referenceOf,
  SharedExport,
  secondInstanceIn,
  stability,
  universalReference,
} from "../capture/index.ts";
import { importedAs } from "../modules/index.ts";
import {
  Cell,
  type Dismantled,
  isClass,
  isFunction,
  isRecord,
  ShippingError,
  type ShippingPolicy,
  type Wrapped,
  wrappedBy,
} from "../shipment/index.ts";
import type { ExplainedPart, Explanation, Refusal } from "./explanation.ts";
import { missedSettings, settingNote } from "./package-settings.ts";
import { refusalOf, valueScale } from "./scale-in-use.ts";
import type { Weighed } from "./value-scale.ts";

const MAX_DEPTH = 6;
const MAX_PARTS = 300;

/** Options of an explanation. */
export interface ExplainOptions {
  /** For a method: an object that has or inherits it, or its class. Needed when the method uses `super` or private names. */
  readonly holder?: object;
  /** Name for a function without a name, "anonymous" by default. */
  readonly name?: string;
}

/** One thing that another refers to, before it is explained. */
interface Lead {
  readonly name: string;
  readonly kind: ExplainedPart["kind"];
  readonly value: unknown;
  /** For a function: the object that holds it. */
  readonly holder?: object;
}

interface Explained {
  readonly parts: readonly ExplainedPart[];
  readonly omitted: number;
}

const NOTHING: Explained = { parts: [], omitted: 0 };

/** Explains what would travel with a function, a class or a wrapper such as a routine. */
export function explain(subject: object, { holder, name: given }: ExplainOptions = {}): Explanation {
  const wrapper = wrappedBy(subject);
  const fn = wrapper?.fn ?? subject;
  const name = wrapper?.name() ?? (nameOf(fn) || (given ?? "anonymous"));
  const policy = { ...wrapper?.policy, ...(holder === undefined ? {} : { holder }) };
  const options = Object.entries(wrapper?.options ?? {});
  const weighed = [
    valueScale().weigh(fn, { path: name, isCaptured: false, policy }),
    ...options.map(([key, value]) => weighOption(name, key, value)),
  ];
  const walk = new Walk();
  walk.note(subject, name);
  walk.note(fn, name);
  const taken = tryDismantle(fn, policy);
  const inside = taken instanceof ShippingError ? NOTHING : walk.explainAll(leadsOf(taken), name, 1);
  const settings = options.map(([key, value]) => walk.explainOption(name, key, value));
  const refusal = refusalIn(weighed) ?? (taken instanceof ShippingError ? refusalOf(taken, name) : undefined);
  return {
    name,
    kind: wrapper !== undefined ? "routine" : isFunction(fn) && isClass(fn) ? "class" : "function",
    by: refusal !== undefined || taken instanceof ShippingError ? "nothing" : taken.way,
    reason: refusal?.reason ?? (taken instanceof ShippingError ? taken.message : taken.reason),
    stability: refusal === undefined ? stability(fn, policy) : undefined,
    ...(refusal === undefined ? sizesOf(weighed) : { bytes: undefined, codeBytes: undefined }),
    parts: [...inside.parts, ...settings],
    omitted: inside.omitted,
    refusal,
    notes: wrapper === undefined ? [] : [...notesOn(fn), ...instanceNotes(fn), ...settingNotes(name, weighed)],
  };
}

/** Notes on the source of a wrapped function where it probably does not do what was meant. */
export function notesOn(fn: object): string[] {
  const name = ownNameCalled(fn);
  return name === undefined ? [] : [recursionNote(name)];
}

/** A note on a module of which a function would have two instances in another process. */
export function instanceNotes(fn: object): string[] {
  const found = secondInstanceIn(fn);
  if (found === undefined) return [];
  const { copied, loaded } = found;
  const what = copied === loaded ? "loads it again" : `loads "${loaded}", which imports it`;
  return [
    `"${copied}" travels as code with this function, and the function itself ${what}: on a worker those are two instances of ` +
      `one module, and what one changes the other does not see. Import "${loaded}" at the top of the file instead`,
  ];
}

function recursionNote(name: string): string {
  return (
    `in routine(async function ${name}() { ... ${name}() ... }) the inner "${name}" is the function and not the routine: those ` +
    `calls stay in the same task. To dispatch them, write const ${name} = routine(async () => { ... ${name}() ... })`
  );
}

function settingNotes(name: string, weighed: readonly Weighed[]): string[] {
  const dependencies = weighed.flatMap((each) => (each.refusal === undefined ? each.dependencies : []));
  return missedSettings(dependencies).map((setting) => settingNote(name, setting));
}

function refusalIn(weighed: readonly Weighed[]): Refusal | undefined {
  return weighed.find((each) => each.refusal !== undefined)?.refusal;
}

function weighOption(name: string, key: string, value: unknown): Weighed {
  return valueScale().weigh(value, { path: `${name}.${key}`, isCaptured: false, policy: {} });
}

/** Explains everything that a function refers to, each thing once. */
class Walk {
  readonly #paths = new Map<object, string>();
  #left = MAX_PARTS;

  note(value: object, path: string): void {
    this.#paths.set(value, path);
  }

  explainAll(leads: readonly Lead[], path: string, depth: number): Explained {
    if (depth > MAX_DEPTH) return { parts: [], omitted: leads.length };
    const shown = leads.slice(0, this.#left).map((lead) => ({
      lead: lead.value instanceof Cell ? opened(lead, lead.value) : lead,
      path: `${path} -> ${lead.name.replace(/^\./, "")}`,
    }));
    this.#left -= shown.length;
    // Things near the root are explained there, not at a deeper reference to them.
    for (const { lead, path } of shown)
      if (isObject(lead.value) && !this.#paths.has(lead.value)) this.note(lead.value, path);
    return {
      parts: shown.map(({ lead, path }) => this.#explain(lead, path, depth)),
      omitted: leads.length - shown.length,
    };
  }

  explainOption(name: string, key: string, value: unknown): ExplainedPart {
    return this.#explain({ name: key, kind: "option", value }, `${name}.${key}`, 1);
  }

  #explain(lead: Lead, path: string, depth: number): ExplainedPart {
    const { name, kind, value } = lead;
    const base = { name, kind, value: shownValue(value) };
    const policy = lead.holder === undefined ? {} : { holder: lead.holder };
    const { by, reason, leads } = describe(value, policy, kind);
    const known = by === "value" && isObject(value) ? this.#paths.get(value) : undefined;
    if (known !== undefined && known !== path) return { ...base, ...repeated(known) };
    const weighed = valueScale().weigh(value, { path, isCaptured: kind !== "option", policy });
    const { refusal } = weighed;
    return {
      ...base,
      by: refusal === undefined ? by : "nothing",
      reason: refusal === undefined ? reason : "it cannot travel",
      ...sizesOf([weighed]),
      refusal,
      sameAs: undefined,
      ...this.explainAll(leads, path, depth + 1),
    };
  }
}

function opened(lead: Lead, cell: Cell): Lead {
  return { ...lead, kind: "assigned variable", value: cell.v };
}

function repeated(sameAs: string): Omit<ExplainedPart, "name" | "kind" | "value"> {
  const reason = `the same as ${sameAs}`;
  return { by: "value", reason, bytes: 0, codeBytes: 0, refusal: undefined, sameAs, ...NOTHING };
}

/** How one value travels by itself, and what it refers to. */
interface Description {
  readonly by: "reference" | "value";
  readonly reason: string;
  readonly leads: readonly Lead[];
}

function describe(value: unknown, policy: ShippingPolicy, kind: ExplainedPart["kind"]): Description {
  if (!isObject(value)) return { by: "value", reason: copyReason(kind, "a copy of its value"), leads: [] };
  const wrapper = wrappedBy(value);
  if (wrapper !== undefined) return describeWrapper(wrapper);
  if (isFunction(value)) return explainFunction(value, policy);
  const reference = referenceOf(value);
  if (reference !== undefined) return { by: "reference", reason: referenceReason(value, reference), leads: [] };
  const own = valueScale().wayOf(value);
  if (own !== undefined) return { by: "value", reason: own, leads: [] };
  return { by: "value", reason: copyReason(kind, "a copy of what it is now"), leads: leadsOfObject(value) };
}

function copyReason(kind: ExplainedPart["kind"], usual: string): string {
  return kind === "assigned variable" ? "some code assigns to it: its value at the time of the call" : usual;
}

function describeWrapper({ fn, options }: Wrapped): Description {
  const { by, reason, leads } = explainFunction(fn, {});
  const settings = Object.entries(options).map(([name, value]): Lead => ({ name, kind: "option", value }));
  return { by, reason: `a routine, and ${reason}`, leads: [...leads, ...settings] };
}

function explainFunction(fn: object, policy: ShippingPolicy): Description {
  const taken = tryDismantle(fn, policy);
  if (taken instanceof ShippingError) return { by: "value", reason: taken.message, leads: [] };
  return { by: taken.way, reason: taken.reason, leads: leadsOf(taken) };
}

function referenceReason(value: object, { head }: Dismantled): string {
  const kind = isRecord(head) ? head["kind"] : undefined;
  if (kind === "prototype") return "it comes with its class";
  if (!(value instanceof SharedExport) && kind !== "module" && kind !== "live" && kind !== "interop") {
    return "every process has it";
  }
  const title =
    value instanceof SharedExport
      ? value.reference.title
      : importedAs(value instanceof Borrowed ? value.value : value)?.title;
  return title === undefined ? "the worker loads it" : `the worker loads it from "${title}"`;
}

function leadsOf({ shipment, captured }: DismantledWithReason): Lead[] {
  const names = new Set(captured.map((value) => value.name));
  const { early, parts, labels } = shipment;
  return [
    ...early.flatMap((value, index) => (value === null ? [] : [definitionLead(shipment, value, index)])),
    ...parts.map((value, index): Lead => {
      const name = labels[index] ?? "";
      return { name, kind: kindOfPart(name, names), value };
    }),
  ];
}

function definitionLead({ head }: Dismantled, value: unknown, index: number): Lead {
  const isSuperclass = index === 0 && isRecord(head) && head["hasHeritage"] === true;
  const name = isSuperclass ? "extends" : typeof value === "function" ? "class" : "key";
  return { name, kind: "definition", value };
}

function kindOfPart(name: string, captured: ReadonlySet<string>): ExplainedPart["kind"] {
  if (name === "this") return "receiver";
  if (captured.has(name)) return "variable";
  return name.startsWith("bound ") ? "bound" : "property";
}

/** The code of an object: the functions that it holds, and its class. */
function leadsOfObject(object: object): Lead[] {
  // A large array of bytes has as many keys.
  if (types.isProxy(object) || types.isArrayBufferView(object)) return [];
  const leads: Lead[] = [];
  for (const key of Reflect.ownKeys(object)) {
    const value: unknown = Reflect.getOwnPropertyDescriptor(object, key)?.value;
    if (typeof value !== "function") continue;
    leads.push({
      name: typeof key === "symbol" ? `[${String(key)}]` : `.${key}`,
      kind: "member",
      value,
      holder: object,
    });
  }
  const prototype = Reflect.getPrototypeOf(object);
  const cls: unknown =
    prototype === null ? undefined : Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  if (typeof cls === "function" && universalReference(cls) === undefined) {
    leads.push({ name: "constructor", kind: "definition", value: cls });
  }
  return leads;
}

function tryDismantle(fn: object, policy: ShippingPolicy): DismantledWithReason | ShippingError {
  try {
    return dismantleWithReason(fn, policy);
  } catch (error) {
    if (error instanceof ShippingError) return error;
    throw error;
  }
}

function sizesOf(weighed: readonly Weighed[]): Pick<Explanation, "bytes" | "codeBytes"> {
  let bytes: number | undefined = 0;
  const code = new Map<string, number>();
  for (const each of weighed) {
    if (each.refusal !== undefined) return { bytes: undefined, codeBytes: undefined };
    bytes = bytes === undefined || each.bytes === undefined ? undefined : bytes + each.bytes;
    for (const { hash, data } of each.dependencies) code.set(hash, Buffer.byteLength(JSON.stringify(data)));
  }
  const codeBytes = [...code.values()].reduce((sum, size) => sum + size, 0);
  return { bytes, codeBytes: bytes === undefined ? undefined : codeBytes };
}

function shownValue(value: unknown): string {
  if (value instanceof SharedExport) return shortValue(value.value);
  if (value instanceof Borrowed) {
    return shortValue(value.member === undefined ? value.value : Reflect.get(value.value, value.member));
  }
  const wrapper = isObject(value) ? wrappedBy(value) : undefined;
  return wrapper === undefined ? shortValue(value) : `[Routine: ${wrapper.name()}]`;
}

/** Empty when it has none, or when reading it could run code, as for a Proxy. */
function nameOf(fn: object): string {
  const name: unknown = types.isProxy(fn) ? "" : Reflect.getOwnPropertyDescriptor(fn, "name")?.value;
  return typeof name === "string" ? name : "";
}

const MAX_SHOWN = 80;

/** A value on one line of at most 80 characters. Does not run the user's code. */
function shortValue(value: unknown): string {
  const text = inspect(value, {
    depth: 0,
    breakLength: Number.POSITIVE_INFINITY,
    compact: true,
    customInspect: false,
    getters: false,
    maxArrayLength: 4,
    maxStringLength: MAX_SHOWN,
  }).replace(/\s+/g, " ");
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1)}…`;
}
