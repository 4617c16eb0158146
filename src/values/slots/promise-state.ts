import { types } from "node:util";
import { viewPromise } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";
import { ValueRefusal } from "../value-refusal.ts";
import type { InternalState } from "./internal-state.ts";

const FULFILLED = 0;
const REJECTED = 1;

interface Settlers {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

const arriving = new WeakMap<object, Settlers>();

/** Symbols under which Node.js stores the asynchronous context on promises. */
const CONTEXT_SYMBOLS: ReadonlySet<string | undefined> = new Set([
  "async_id_symbol",
  "trigger_async_id_symbol",
  "kResourceStore",
]);

/** Settled promises. Only the inspector shows their result. */
export const promiseState: InternalState<Promise<unknown>> = {
  number: 20,
  is: (value): value is Promise<unknown> => types.isPromise(value),
  variant: (promise) => (settlementOf(promise).state === "rejected" ? REJECTED : FULFILLED),
  prototype: (variant) => (variant <= REJECTED ? Promise.prototype : undefined),
  writeShell: () => {},
  readShell() {
    let settlers: Settlers | undefined;
    const promise = new Promise<unknown>((resolve, reject) => {
      settlers = { resolve, reject };
    });
    if (settlers !== undefined) arriving.set(promise, settlers);
    return promise;
  },
  writeBody(writer, promise) {
    writer.value(settlementOf(promise).result);
  },
  readBody(reader, promise, variant) {
    const result = reader.value();
    const settlers = arriving.get(promise);
    if (variant === REJECTED) {
      // The code that gets the promise may handle its rejection later, so it must not count as unhandled until then.
      void Reflect.apply(Promise.prototype.then, promise, [undefined, () => {}]);
      settlers?.reject(result);
    } else {
      // Resolving with a value reads its `then`, so the value has to be complete.
      reader.settleLater(() => settlers?.resolve(result));
    }
  },
  leads: (promise) => [{ label: " (its result)", value: settlementOf(promise).result }],
  implies: (_promise, key) => typeof key === "symbol" && CONTEXT_SYMBOLS.has(key.description),
};

interface Settlement {
  readonly state: "fulfilled" | "rejected";
  readonly result: unknown;
}

const settlements = new WeakMap<object, Settlement>();

function settlementOf(promise: Promise<unknown>): Settlement {
  const known = settlements.get(promise);
  if (known !== undefined) return known;
  const { state, result } = view(promise);
  if (state === "pending") {
    throw new ValueRefusal(promise, "a Promise that is not settled has no value yet", "Await it and pass the value.");
  }
  if (state === "fulfilled" && hasThen(result)) {
    throw new ValueRefusal(
      promise,
      "a Promise of an object with a then method cannot be made in another process",
      "Await it and pass the value.",
    );
  }
  const settlement = { state, result };
  settlements.set(promise, settlement);
  return settlement;
}

function view(promise: Promise<unknown>): ReturnType<typeof viewPromise> {
  try {
    return viewPromise(promise);
  } catch (error) {
    throw new ValueRefusal(
      promise,
      "the result of a Promise cannot be seen without the inspector of Node.js",
      "Await it and pass the value.",
      [],
      error,
    );
  }
}

function hasThen(value: unknown): boolean {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  if (types.isProxy(value)) return false;
  for (let holder: object | null = value; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const property = ownProperty(holder, "then");
    if (property !== undefined) return typeof property.value === "function" || property.get !== undefined;
  }
  return false;
}
