import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { compileFunction } from "node:vm";
import { MessagePort } from "node:worker_threads";

type Relied = readonly [object: object, path: string, keys: readonly (string | symbol)[]];

const named = (keys: string): string[] => keys.split(" ");
const iterable = (keys: string): (string | symbol)[] => [...named(keys), Symbol.iterator];
const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype) as object;
const arrayIteratorPrototype = Object.getPrototypeOf([].values()) as object;
const mapIteratorPrototype = Object.getPrototypeOf(new Map().values()) as object;
const setIteratorPrototype = Object.getPrototypeOf(new Set().values()) as object;

/** What the runtime uses in a task thread after user code has run there, and what that code can replace. */
function reliedOn(): readonly Relied[] {
  return [
    [
      globalThis,
      "",
      named(
        "AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt Boolean Buffer DataView Error " +
          "Function JSON Map Math Number Object Promise RangeError Reflect RegExp Set SharedArrayBuffer String Symbol " +
          "TypeError Uint8Array WeakMap WeakRef WeakSet performance process queueMicrotask setImmediate",
      ),
    ],
    [process, "process.", named("nextTick")],
    [performance, "performance.", named("now")],
    [Reflect, "Reflect.", named("apply construct defineProperty deleteProperty get getPrototypeOf has ownKeys set")],
    [
      Object,
      "Object.",
      named(
        "assign create defineProperty defineProperties entries freeze fromEntries getOwnPropertyDescriptor " +
          "getOwnPropertyNames getPrototypeOf hasOwn is isFrozen keys setPrototypeOf values",
      ),
    ],
    [Object.prototype, "Object.prototype.", named("hasOwnProperty toString")],
    [Function.prototype, "Function.prototype.", [...named("apply bind call"), Symbol.hasInstance]],
    [Array, "Array.", named("from isArray of")],
    [
      Array.prototype,
      "Array.prototype.",
      iterable(
        "at concat every fill filter find findIndex flat flatMap forEach includes indexOf join map pop push reduce " +
          "reverse shift slice some sort splice unshift values",
      ),
    ],
    [arrayIteratorPrototype, "the iterator of arrays: ", ["next"]],
    [Map.prototype, "Map.prototype.", iterable("clear delete entries forEach get has keys set values")],
    [mapIteratorPrototype, "the iterator of maps: ", ["next"]],
    [Set.prototype, "Set.prototype.", iterable("add clear delete forEach has values")],
    [setIteratorPrototype, "the iterator of sets: ", ["next"]],
    [WeakMap.prototype, "WeakMap.prototype.", named("delete get has set")],
    [WeakRef.prototype, "WeakRef.prototype.", named("deref")],
    [Promise, "Promise.", named("all allSettled race reject resolve")],
    [Promise.prototype, "Promise.prototype.", named("catch constructor finally then")],
    [Buffer, "Buffer.", named("alloc allocUnsafe allocUnsafeSlow byteLength concat from isBuffer")],
    [
      Buffer.prototype,
      "Buffer.prototype.",
      named("copy latin1Slice latin1Write readUInt32LE subarray toString utf8Slice utf8Write write writeUInt32LE"),
    ],
    [typedArrayPrototype, "Uint8Array.prototype.", named("fill set slice subarray")],
    [JSON, "JSON.", named("parse stringify")],
    [Math, "Math.", named("ceil floor max min random round trunc")],
    [Number, "Number.", named("isFinite isInteger isNaN isSafeInteger")],
    [Atomics, "Atomics.", named("add load store")],
    [
      String.prototype,
      "String.prototype.",
      named("charCodeAt endsWith includes indexOf lastIndexOf match replace slice split startsWith trim"),
    ],
    [Number.prototype, "Number.prototype.", named("toString")],
    [RegExp.prototype, "RegExp.prototype.", named("exec test")],
    [AbortController.prototype, "AbortController.prototype.", named("abort")],
    [AbortSignal, "AbortSignal.", named("any")],
    [EventTarget.prototype, "EventTarget.prototype.", named("addEventListener dispatchEvent removeEventListener")],
    [AsyncLocalStorage.prototype, "AsyncLocalStorage.prototype.", named("getStore run")],
    [MessagePort.prototype, "MessagePort.prototype.", named("postMessage")],
    [EventEmitter.prototype, "EventEmitter.prototype.", named("emit on")],
    [Socket.prototype, "net.Socket.prototype.", named("destroy destroySoon pause push resume write")],
  ];
}

/**
 * Whether a replacement behaves like the original, as far as that can be tested. Polyfills replace some of these, and
 * wrappers that only observe are harmless. Anything that is not listed here must not be replaced at all.
 */
const TRIALS: Readonly<Record<string, () => boolean>> = {
  "Array.prototype.push": () => ((a) => a.push(2, 3) === 3 && a[1] === 2 && a[2] === 3 && a.length === 3)([1]),
  "Array.prototype.unshift": () => ((a) => a.unshift(1, 2) === 3 && a[0] === 1 && a[1] === 2 && a[2] === 3)([3]),
  "Array.prototype.pop": () => ((a) => a.pop() === 2 && a.length === 1 && a[0] === 1)([1, 2]),
  "Array.prototype.shift": () => ((a) => a.shift() === 1 && a.length === 1 && a[0] === 2)([1, 2]),
  "Array.prototype.splice": () => ((a) => a.splice(1, 1, 8, 9)[0] === 2 && a[2] === 9 && a[3] === 3)([1, 2, 3]),
  "Array.prototype.slice": () => ((a) => a.length === 2 && a[0] === 2 && a[1] === 3)([1, 2, 3].slice(1)),
  "Array.prototype.concat": () => ((a) => a.length === 3 && a[0] === 1 && a[2] === 3)([1].concat([2, 3])),
  "Array.prototype.map": () => ((a) => a.length === 2 && a[0] === 2 && a[1] === 4)([1, 2].map((n) => n * 2)),
  "Array.prototype.filter": () => ((a) => a.length === 1 && a[0] === 2)([1, 2].filter((n) => n > 1)),
  "Array.prototype.some": () => [1, 2].some((n) => n === 2) && ![1, 2].some((n) => n === 3),
  "Array.prototype.every": () => [1, 2].every((n) => n > 0) && ![1, 2].every((n) => n > 1),
  "Array.prototype.find": () => [1, 2].find((n) => n > 1) === 2,
  "Array.prototype.includes": () => [1, 2].includes(2) && ![1, 2].includes(3),
  "Array.prototype.indexOf": () => [1, 2].indexOf(2) === 1 && [1, 2].indexOf(3) === -1,
  "Array.prototype.join": () => [1, 2].join("-") === "1-2",
  "Array.prototype.flatMap": () => ((a) => a.length === 2 && a[1] === 1)([1].flatMap((n) => [n, n])),
  "Array.isArray": () => Array.isArray([]) && !Array.isArray({ length: 0 }),
  "Array.from": () => ((a) => a.length === 2 && a[1] === "b")(Array.from("ab")),
  "Object.keys": () => ((keys) => keys.length === 1 && keys[0] === "a")(Object.keys({ a: 1 })),
  "Object.assign": () => ((made) => made.a === 1 && made.b === 2)(Object.assign({ a: 1 }, { b: 2 })),
  "JSON.stringify": () => JSON.stringify({ a: [1, "b", null] }) === '{"a":[1,"b",null]}',
  "JSON.parse": () => ((made: { a: number[] }) => made.a[0] === 1)(JSON.parse('{"a":[1]}') as { a: number[] }),
  "EventEmitter.prototype.emit": () => heard("emit"),
  "EventEmitter.prototype.on": () => heard("on"),
  "Math.min": () => Math.min(2, 1, 3) === 1,
  "Math.max": () => Math.max(2, 3, 1) === 3,
  "Math.random": () => ((n) => n >= 0 && n < 1)(Math.random()),
  "String.prototype.startsWith": () => "abc".startsWith("ab") && !"abc".startsWith("b"),
  "String.prototype.includes": () => "abc".includes("b") && !"abc".includes("d"),
  "String.prototype.split": () => ((parts) => parts.length === 2 && parts[1] === "b")("a,b".split(",")),
  "String.prototype.replace": () => "abc".replace("b", "x") === "axc",
  "String.prototype.trim": () => " a ".trim() === "a",
};

/**
 * Notices that user code has replaced a part of the language that the runtime relies on. After that the runtime can
 * fail in any way, so the thread must be replaced. Everything that exists when the guard is made counts as correct.
 */
export class IntrinsicGuard {
  readonly #names: string[] = [];
  readonly #objects: Record<PropertyKey, unknown>[] = [];
  readonly #keys: PropertyKey[] = [];
  readonly #values: unknown[] = [];
  /** Compiled at its first use, unless `prepare` was called. */
  #isIntact: () => boolean = () => this.prepare()();

  constructor() {
    for (const [object, path, keys] of reliedOn()) {
      for (const key of keys) {
        if (object === globalThis) makePlain(object, key);
        this.#names.push(path + (typeof key === "symbol" ? `[${key.description}]` : key));
        this.#objects.push(object as Record<PropertyKey, unknown>);
        this.#keys.push(key);
        this.#values.push((object as Record<PropertyKey, unknown>)[key]);
      }
    }
  }

  /** Compiles the check, which takes a millisecond. */
  prepare(): () => boolean {
    this.#isIntact = this.#compile();
    return this.#isIntact;
  }

  /** The name of something that was replaced; undefined if nothing was. Fast enough to be called for each task. */
  replaced(): string | undefined {
    return this.#isIntact() ? undefined : this.#find();
  }

  /**
   * One comparison for each property, without a loop: with constant names the engine optimizes almost all of them away,
   * those of the global object only as variables. With a loop, 100 calls in flight were 0.44x as fast; as properties of the
   * global object, the check took a tenth of a worker's time with trivial items of a map. A variable that is gone throws.
   */
  #compile(): () => boolean {
    const indexes = this.#keys.map((_, index) => index);
    const declared = indexes.map((i) => `const h${i} = h[${i}], k${i} = k[${i}], v${i} = v[${i}];`);
    const same = this.#keys.map((key, i) => {
      if (typeof key === "symbol") return `h${i}[k${i}] === v${i}`;
      const name = String(key);
      return this.#objects[i] === globalThis ? `${name} === v${i}` : `h${i}.${name} === v${i}`;
    });
    const check = `() => { try { return ${same.join(" && ")}; } catch { return false; } }`;
    const make = compileFunction(`${declared.join("\n")}\nreturn ${check};`, ["h", "k", "v"]) as (
      ...tables: unknown[]
    ) => () => boolean;
    return make(this.#objects, this.#keys, this.#values);
  }

  /** Uses nothing that may have been replaced. Replacements that behave the same count as correct from now on. */
  #find(): string | undefined {
    for (let i = 0; i < this.#keys.length; i++) {
      const key = this.#keys[i];
      const name = this.#names[i];
      if (key === undefined || name === undefined || this.#objects[i]?.[key] === this.#values[i]) continue;
      if (!doesTheSame(name)) return name;
      this.#values[i] = this.#objects[i]?.[key];
    }
    this.prepare();
    return undefined;
  }
}

/**
 * Makes a property with a value of an accessor. `Buffer`, `process`, `performance` and two more are accessors of Node.js. To
 * call those after each task takes a tenth of a worker's time with trivial items of a map, to compare values nothing.
 */
function makePlain(object: object, key: string | symbol): void {
  const property = Object.getOwnPropertyDescriptor(object, key);
  if (property?.get === undefined || property.configurable !== true) return;
  const value = (object as Record<PropertyKey, unknown>)[key];
  const { enumerable = false } = property;
  Object.defineProperty(object, key, { value, enumerable, writable: true, configurable: true });
}

/** Whether a listener receives an event. */
function heard(value: string): boolean {
  const [emitter, values] = [new EventEmitter(), [] as unknown[]];
  emitter.on("trial", (each) => values.push(each));
  return emitter.emit("trial", value) && values.length === 1 && values[0] === value;
}

function doesTheSame(name: string): boolean {
  try {
    return TRIALS[name]?.() === true;
  } catch {
    return false;
  }
}
