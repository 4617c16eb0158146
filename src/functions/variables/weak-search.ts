import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import {
  afterCapture,
  type BoundView,
  captureNumber,
  EngineClosed,
  type FunctionView,
  foreseeObjects,
  intrinsicPathOf,
  readVariable,
  scriptUrl,
  UNINITIALISED,
  viewFunction,
  viewPrivates,
} from "../engine/index.ts";
import {
  builtinPlaceOf,
  isAtTopLevel,
  isMadeLater,
  isReader,
  isReplaced,
  leadsToWeak,
  pathOf,
} from "../modules/index.ts";
import { Cell, isFunction, revivedSource, runtimeNameOf, sourceTextOf, wrappedBy } from "../shipment/index.ts";

/*
 * Finds the weak collections that the code of a class can use: those in variables around the class, and around the
 * functions that it uses, in whatever file. The way to a collection is written as a text that leads to the same
 * collection in another process: variables of a function, with `.` for a property, and `>` to go on from a function to
 * its variables: `get>values`, `state.get>values`, `.prototype.read>values`.
 */

/** A `WeakMap` or `WeakSet`. */
export type Weak = WeakMap<object, unknown> | WeakSet<object>;

/** A way to a weak collection: through these functions, each with the rest of the way from there. */
export type Way = readonly { readonly fn: object; readonly rest: string }[];

/** The weak collections that a class can use, each with the ways to it. */
export interface Findings {
  readonly collections: ReadonlyMap<Weak, readonly Way[]>;
  /** False when a variable may get another collection later, as one that is not initialised yet. */
  readonly isFinal: boolean;
}

const NOTHING: Findings = { collections: new Map(), isFinal: true };
/** Bounds the time of a search, and of all searches of a capture. What a class uses for its own state is near. */
const MAX_FUNCTIONS = 50;
const MAX_IN_CAPTURE = 250;
const MAX_WAYS = 4;
/** Of every function. For its `arguments` and `caller` the engine walks the stack: a tenth of the first call with lodash. */
const STANDARD_KEYS: ReadonlySet<string> = new Set(["length", "name", "arguments", "caller"]);
const WORDS = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;
const STEP = /^[^.>\s():]+$/;

/** True for a `WeakMap` or `WeakSet`. */
function isWeak(value: unknown): value is Weak {
  return types.isWeakMap(value) || types.isWeakSet(value);
}

/** The weak collections that the code of a class can use. */
export function findCollections(cls: object): Findings {
  if (!isOwnCode(cls)) return NOTHING;
  try {
    return new Search(cls).run();
  } catch (error) {
    if (error instanceof EngineClosed) return NOTHING;
    throw error;
  }
}

/** True for a function of the program or of a package, not of the language, Node.js or the runtime. */
function isOwnCode(fn: object): boolean {
  if (types.isProxy(fn) || runtimeNameOf(fn) !== undefined || wrappedBy(fn) !== undefined) return false;
  return intrinsicPathOf(fn) === undefined && builtinPlaceOf(fn) === undefined;
}

/** What `find` says about objects. It is asked once for each in a capture, in which nothing changes. */
class OncePerCapture<V> {
  readonly #find: (object: object) => V;
  readonly #known = new Map<object, V>();

  constructor(find: (object: object) => V) {
    this.#find = find;
  }

  get size(): number {
    return this.#known.size;
  }

  has(object: object): boolean {
    return this.#known.has(object);
  }

  of(object: object): V {
    const known = this.#known.get(object);
    if (known !== undefined) return known;
    const found = this.#find(object);
    if (captureNumber() === undefined) return found;
    if (this.#known.size === 0) afterCapture(() => this.#known.clear());
    this.#known.set(object, found);
    return found;
  }
}

/** Classes of a package use the same functions and objects. */
const surroundings = new OncePerCapture(findSurroundings);
const hiddenFields = new OncePerCapture(findHiddenFields);

interface Pending {
  readonly fn: object;
  /** The functions on the way here, each with the way from it to `fn`. */
  readonly way: Way;
}

class Search {
  readonly #collections = new Map<Weak, Way[]>();
  readonly #seen = new Set<object>();
  readonly #pending: Pending[] = [];
  readonly #root: object;
  #isFinal = true;

  constructor(root: object) {
    this.#root = root;
  }

  run(): Findings {
    this.#enqueue(this.#root, []);
    let foreseen = 1;
    for (let index = 0; index < this.#pending.length && index < MAX_FUNCTIONS; index++) {
      const next = this.#pending[index];
      if (next === undefined || (index > 0 && surroundings.size >= MAX_IN_CAPTURE)) break;
      if (index === foreseen) foreseen = this.#foresee(index);
      this.#lookInto(next);
    }
    return { collections: this.#collections, isFinal: this.#isFinal };
  }

  /** Hands the functions that come next to the engine together. Returns the place of the first one after them. */
  #foresee(start: number): number {
    const end = Math.min(this.#pending.length, MAX_FUNCTIONS, start + Math.max(1, MAX_IN_CAPTURE - surroundings.size));
    const unseen = this.#pending.slice(start, end).flatMap(({ fn }) => (surroundings.has(fn) ? [] : [fn]));
    if (unseen.length > 1) foreseeObjects(unseen);
    return end;
  }

  #enqueue(fn: object, way: Way): void {
    if (this.#seen.has(fn) || !isOwnCode(fn)) return;
    this.#seen.add(fn);
    this.#pending.push({ fn, way });
  }

  #lookInto({ fn, way }: Pending): void {
    const { bound, isWorthwhile } = surroundings.of(fn);
    if (bound !== undefined) {
      this.#follow(bound.self, extend(fn, way, ".(this)"), NO_WORDS);
      bound.args.forEach((value, index) => this.#follow(value, extend(fn, way, `.(${index})`), NO_WORDS));
      this.#follow(bound.target, extend(fn, way, ".(target)"), NO_WORDS);
      return;
    }
    const isRoot = fn === this.#root;
    if (!isWorthwhile && !isRoot) return;
    if (isWorthwhile) this.#followVariables(fn, way);
    if (isRoot) this.#followMethods(fn, sourceTextOf(fn));
  }

  /** Looks at the variables around a function that its text mentions, or that of functions beside it that it uses. */
  #followVariables(fn: object, way: Way): void {
    const { variables, path } = surroundings.of(fn);
    if (fn === this.#root) {
      for (const name of variables.keys()) {
        const value = variables.get(name);
        if (value === UNINITIALISED) this.#isFinal = false;
        // Other code beside a class may keep something for its instances, too.
        if (isWeak(value)) this.#follow(value, extend(fn, way, name), NO_WORDS);
      }
    }
    const words = new Set(wordsOf(fn));
    for (const name of words) {
      if (!variables.has(name)) continue;
      const value = variables.get(name);
      if (value === UNINITIALISED || (value === undefined && isMadeLater(path, name))) this.#isFinal = false;
      if (isWeak(value)) {
        if (isReplaced(path, name)) this.#isFinal = false;
        if (fn !== this.#root) this.#follow(value, extend(fn, way, name), NO_WORDS);
      } else if (isFunction(value) && isAtTopLevel(path, name, sourceTextOf(value))) {
        // The loop goes on with the words that are added.
        for (const word of wordsOf(value)) words.add(word);
        this.#followProperties(value, extend(fn, way, name), words);
      } else this.#follow(value, extend(fn, way, name), words);
    }
    this.#followProperties(fn, extend(fn, way, ""), words);
  }

  /** Looks at a value that code with these words uses. */
  #follow(value: unknown, way: Way, words: ReadonlySet<string>): void {
    if (isWeak(value)) {
      const ways = this.#collections.get(value) ?? [];
      this.#collections.set(value, ways);
      if (ways.length < MAX_WAYS) ways.push(way);
    } else if (typeof value === "function") {
      this.#enqueue(value, way);
      if (isOwnCode(value)) this.#followProperties(value, way, words);
    } else if (typeof value === "object" && value !== null && !types.isProxy(value)) {
      this.#followProperties(value, way, words);
      this.#followInherited(value, way, words);
    }
  }

  /** Weak collections among the properties of an object, and what code with these words uses of it. */
  #followProperties(holder: object, way: Way, words: ReadonlySet<string>): void {
    // Data may have millions of elements.
    if (types.isTypedArray(holder) || Array.isArray(holder)) return;
    const isCode = typeof holder === "function";
    for (const key of Object.getOwnPropertyNames(holder)) {
      if (key === "prototype" || (isCode && STANDARD_KEYS.has(key)) || !STEP.test(key)) continue;
      const value = ownValue(holder, key);
      if (isWeak(value) || (typeof value === "function" && words.has(key)))
        this.#follow(value, onward(way, key), NO_WORDS);
    }
    for (const { name, value } of hiddenFields.of(holder))
      if (isWeak(value)) this.#follow(value, onward(way, name), NO_WORDS);
  }

  /** The methods of an object that code with these words uses. */
  #followInherited(holder: object, way: Way, words: ReadonlySet<string>): void {
    for (let prototype = Reflect.getPrototypeOf(holder); prototype !== null && isForeign(prototype); ) {
      for (const key of Object.getOwnPropertyNames(prototype)) {
        if (!STEP.test(key) || !words.has(key) || key === "constructor") continue;
        const value = ownValue(prototype, key);
        if (typeof value === "function") this.#enqueue(value, onward(way, key));
      }
      prototype = Reflect.getPrototypeOf(prototype);
    }
  }

  /** The methods of the class that are not in its text: those that were added, or that belong to a function. */
  #followMethods(cls: object, text: string): void {
    const prototype = ownValue(cls, "prototype");
    if (!isObject(prototype) || types.isProxy(prototype)) return;
    for (const key of Object.getOwnPropertyNames(prototype)) {
      if (!STEP.test(key) || key === "constructor") continue;
      const { value, get, set }: PropertyDescriptor = Reflect.getOwnPropertyDescriptor(prototype, key) ?? {};
      for (const [method, step] of [
        [value, key] as const,
        [get, `get:${key}`] as const,
        [set, `set:${key}`] as const,
      ]) {
        if (!isFunction(method) || text.includes(sourceTextOf(method))) continue;
        this.#enqueue(method, extend(cls, [], `.prototype.${step}`));
      }
    }
  }
}

const NO_WORDS: ReadonlySet<string> = new Set();

const wordLists = new WeakMap<object, readonly string[]>();

/** The words in the text of a function, each once. Every class of a file asks for those of the same functions. */
function wordsOf(fn: object): readonly string[] {
  const known = wordLists.get(fn);
  if (known !== undefined) return known;
  const words = [...new Set(sourceTextOf(fn).match(WORDS))];
  wordLists.set(fn, words);
  return words;
}

/** The way to a function, and from there to one of its variables, or to itself with an empty name. */
function extend(fn: object, way: Way, name: string): Way {
  return [...way.map((each) => ({ fn: each.fn, rest: `${each.rest}>${name}` })), { fn, rest: name }];
}

function onward(way: Way, key: string): Way {
  return way.map(({ fn, rest }) => ({ fn, rest: `${rest}.${key}` }));
}

function isForeign(prototype: object): boolean {
  return (
    !types.isProxy(prototype) && intrinsicPathOf(prototype) === undefined && builtinPlaceOf(prototype) === undefined
  );
}

/** The value of an own property. Runs no accessor, except one that a transpiler made for an export. */
function ownValue(holder: object, key: string): unknown {
  try {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    return isReader(descriptor?.get) ? Reflect.get(holder, key) : descriptor?.value;
  } catch {
    // An export that is not initialised yet.
    return undefined;
  }
}

/** The private fields of an object whose class has some. */
function findHiddenFields(holder: object): readonly { readonly name: string; readonly value: unknown }[] {
  const cls = typeof holder === "function" ? holder : ownValue(Reflect.getPrototypeOf(holder) ?? {}, "constructor");
  if (!isFunction(cls) || !isOwnCode(cls)) return [];
  const text = sourceTextOf(cls);
  return text.startsWith("class") && /#[\w$]+/.test(text) ? viewPrivates(holder) : [];
}

interface Surroundings {
  /** The file of a function; undefined when it is not known. */
  readonly path: string | undefined;
  /** The variables around a function, innermost first. */
  readonly variables: Pick<ReadonlyMap<string, unknown>, "get" | "has" | "keys">;
  readonly bound: BoundView | undefined;
  /** False when neither its file nor anything that this imports makes weak collections. */
  readonly isWorthwhile: boolean;
}

const NOWHERE: Surroundings = { path: undefined, variables: new Map(), bound: undefined, isWorthwhile: false };

function findSurroundings(fn: object): Surroundings {
  const revived = revivedSource(fn);
  if (revived !== undefined) {
    const captured = revived.captured();
    const named = captured.map((value, index) => [revived.labels[index] ?? "", contentOf(value)] as const);
    return { path: undefined, variables: new Map(named), bound: undefined, isWorthwhile: true };
  }
  const view = viewFunction(fn);
  const { location, bound } = view;
  if (bound !== undefined) return { path: undefined, variables: new Map(), bound, isWorthwhile: true };
  const url = location === undefined ? "node:" : (scriptUrl(location.scriptId) ?? "");
  const path = pathOf(url);
  const isWorthwhile = !url.startsWith("node:") && leadsToWeak(path);
  return { path, variables: new ScopeVariables(view), bound, isWorthwhile };
}

/** The variables in the scopes of a function. There may be thousands, so each is read when it is asked for. */
class ScopeVariables {
  readonly #scopes: FunctionView["scopes"];

  constructor({ scopes }: FunctionView) {
    this.#scopes = scopes.filter(({ description }) => !description.startsWith("Global"));
  }

  has(name: string): boolean {
    return this.#scopes.some(({ variables }) => Object.hasOwn(variables, name));
  }

  get(name: string): unknown {
    const scope = this.#scopes.find(({ variables }) => Object.hasOwn(variables, name));
    return scope === undefined ? undefined : contentOf(readVariable(scope, name, UNINITIALISED));
  }

  keys(): MapIterator<string> {
    return new Set(this.#scopes.flatMap(({ variables }) => Object.keys(variables))).keys();
  }
}

function contentOf(value: unknown): unknown {
  return value instanceof Cell ? value.v : value;
}

const followed = new WeakMap<object, Map<string, Weak>>();

/** The collection at the end of a way that another process has written; undefined when there is none. */
export function collectionAt(start: object, way: string): Weak | undefined {
  const known = followed.get(start) ?? new Map<string, Weak>();
  followed.set(start, known);
  const collection = known.get(way);
  if (collection !== undefined) return collection;
  let value: unknown = start;
  let isFinal = true;
  for (const part of way.split(">")) {
    const [name = "", ...steps] = part.split(".");
    if (name !== "") {
      const { variables, path } = isFunction(value) ? surroundings.of(value) : NOWHERE;
      value = variables.get(name);
      if (isReplaced(path, name)) isFinal = false;
    }
    for (const step of steps) value = isObject(value) && !types.isProxy(value) ? memberAt(value, step) : undefined;
  }
  if (!isWeak(value)) return undefined;
  if (isFinal) known.set(way, value);
  return value;
}

function memberAt(holder: object, step: string): unknown {
  if (step.startsWith("#")) return viewPrivates(holder).find(({ name }) => name === step)?.value;
  const [, accessor = "", key = step] = /^(get|set):(.+)$/.exec(step) ?? [];
  if (accessor !== "") return Reflect.get(Reflect.getOwnPropertyDescriptor(holder, key) ?? {}, accessor);
  if (step.startsWith("(")) return boundMember(holder, step.slice(1, -1));
  for (let at: object | null = holder; at !== null; at = Reflect.getPrototypeOf(at)) {
    if (Object.hasOwn(at, step)) return ownValue(at, step);
  }
  return undefined;
}

function boundMember(fn: object, name: string): unknown {
  const { bound } = viewFunction(fn);
  if (bound === undefined) return undefined;
  return name === "this" ? bound.self : name === "target" ? bound.target : bound.args[Number(name)];
}
