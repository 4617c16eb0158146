import { type Assembled, noteRevived, type PlainData } from "../shipment/index.ts";
import { type Arrival, applyNameAndLength, completeFunction, foreignId, returning } from "./assemble-code.ts";

type Callable = (...args: unknown[]) => unknown;

function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

/**
 * Makes a bound function. Its target and arguments may refer back to it, so it is bound to a stand-in that finds
 * target, receiver and arguments once they exist.
 */
export function assembleBound(head: { readonly [key: string]: PlainData }, { isCall, isCaptured }: Arrival): Assembled {
  const original = isCall ? undefined : returning(head);
  if (original !== undefined) return original;
  let held: readonly unknown[] = [];
  const standIn = function (...given: unknown[]): unknown {
    const [target, self, ...args] = held;
    if (!isCallable(target)) throw new TypeError("a bound function was called before it was complete");
    const all = [...args, ...given];
    return new.target === undefined ? Reflect.apply(target, self, all) : Reflect.construct(target, all);
  };
  const value: object = Function.prototype.bind.call(standIn, undefined);
  applyNameAndLength(value, head);
  noteRevived(value, {
    id: foreignId(head),
    instance: undefined,
    kind: "bound",
    code: undefined,
    captured: () => held,
    labels: [],
    early: [],
    pristine: undefined,
    hasHeritage: false,
    home: undefined,
    index: undefined,
    privates: undefined,
    isPassed: isCall && !isCaptured,
  });
  return {
    value,
    complete: (parts) => {
      held = parts.slice(0, typeof head["captured"] === "number" ? head["captured"] : 0);
      completeFunction(value, head, parts);
    },
  };
}
