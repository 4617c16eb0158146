import inspector from "node:inspector";
import { isMainThread } from "node:worker_threads";
import type { AnyNode, FunctionExpression } from "acorn";
import { childrenOf, isClassNode, isFunctionNode } from "../syntax/index.ts";
import type { CodeSite } from "./code-site.ts";
import { type FunctionLocation, viewFunction } from "./function-views.ts";
import { attempt, inspect, listening, liveValue, withDebugger, withRemoteObject } from "./inspector-session.ts";
import { IS_MAIN_REALM } from "./intrinsics.ts";

/** A function that was entered and stopped before its first statement. */
export interface PausedFunction {
  /** The value of `this` in it. */
  receiver(): unknown;
  /** The value of an expression in it. */
  evaluate(expression: string): unknown;
}

/** A value for all parameters: whatever a pattern reads from it is this value again, so no default value is evaluated. */
export const stuffing: unknown = new Proxy(() => {}, {
  get: (_target, key) =>
    key === Symbol.iterator
      ? function* () {
          for (let index = 0; index < 64; index += 1) yield stuffing;
        }
      : stuffing,
});

const PAUSED_GROUP = "wool-paused";
const ENTER = Symbol.for("wool-ts.functions.enter");

/**
 * True while a debugger may be attached: stopping a function would stop there for the user too. A thread does not know
 * the inspector's URL.
 */
export function isDebuggerAttached(): boolean {
  if (inspector.url() !== undefined) return true;
  if (isMainThread) return false;
  const options = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  return options.includes("--inspect") || process.env["VSCODE_INSPECTOR_OPTIONS"] !== undefined;
}

// From the call in `enter` it takes two steps into the function. The rest is a reserve for unexpected steps.
const MAX_STEPS = 8;

/** How to enter a function. */
export interface Entry {
  readonly parameterCount: number;
  /** A generator runs its first statement when it is asked for its first value. */
  readonly way: "call" | "construct" | "iterate";
}

/**
 * Enters a function far enough to see its surroundings, and leaves it before any of its statements has run: V8 steps
 * into it, stops at once, and the call is then terminated. Undefined when V8 does not stop in the function. Only for
 * functions whose parameters have no computed keys.
 */
export function pauseIn<T>(fn: object, entry: Entry, body: (paused: PausedFunction) => T): T | undefined {
  if (!isCallable(fn) || isDebuggerAttached()) return undefined;
  const { location } = viewFunction(fn);
  const enter = entranceTo(fn, entry);
  let outcome: { value: T } | { error: unknown } | undefined;
  let start: inspector.Debugger.CallFrame | undefined;
  let steps = 0;
  const onPaused = ({ callFrames }: inspector.Debugger.PausedEventDataType): void => {
    start ??= callFrames[0];
    const depth = callFrames.findIndex((frame) => isSameFunction(frame, start));
    steps += 1;
    if (depth === 0 && steps < MAX_STEPS) {
      inspect("Debugger.stepInto");
      return;
    }
    const frame = callFrames[depth - 1];
    try {
      if (frame !== undefined && outcome === undefined && isAt(frame, location)) {
        outcome = { value: body(describe(frame)) };
      }
    } catch (error) {
      outcome = { error };
    } finally {
      inspect("Runtime.terminateExecution");
    }
  };
  withDebugger(() =>
    withRemoteObject(enter, (objectId) => {
      const { breakpointId } = inspect<{ breakpointId: string }>("Debugger.setBreakpointOnFunctionCall", { objectId });
      Object.defineProperty(inspector, ENTER, { value: enter, configurable: true });
      try {
        listening("Debugger.paused", onPaused, run);
      } finally {
        Reflect.deleteProperty(inspector, ENTER);
        inspect("Debugger.removeBreakpoint", { breakpointId });
      }
    }),
  );
  if (outcome === undefined) return undefined;
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

function entranceTo(fn: Callable, { parameterCount, way }: Entry): () => unknown {
  const args = new Array<unknown>(parameterCount).fill(stuffing);
  if (way === "construct") return () => new fn(...args);
  return way === "iterate" ? () => fn(...args).next() : () => fn(...args);
}

interface Callable {
  (...args: unknown[]): { next(): unknown };
  new (...args: unknown[]): unknown;
}

function isCallable(value: object): value is Callable {
  return typeof value === "function";
}

function isAt({ functionLocation }: inspector.Debugger.CallFrame, location: FunctionLocation | undefined): boolean {
  return (
    functionLocation?.scriptId === location?.scriptId &&
    functionLocation?.lineNumber === location?.line &&
    functionLocation?.columnNumber === location?.column
  );
}

function isSameFunction(a: inspector.Debugger.CallFrame, b: inspector.Debugger.CallFrame | undefined): boolean {
  return (
    a.functionLocation?.scriptId === b?.functionLocation?.scriptId &&
    a.functionLocation?.lineNumber === b?.functionLocation?.lineNumber &&
    a.functionLocation?.columnNumber === b?.functionLocation?.columnNumber
  );
}

/** Runs the call as an evaluation with a time limit: a termination ends there. */
function run(): void {
  attempt("Runtime.evaluate", {
    expression: `process.getBuiltinModule("node:inspector")[Symbol.for("${ENTER.description}")]()`,
    timeout: 60_000,
    silent: true,
  });
}

const TAKER = `$wool_${Math.random().toString(36).slice(2)}`;

/**
 * The value of an expression in a function of the realm that a test runner loads modules into. The inspector hands no
 * object of that realm over to the main one, so the expression calls a function of this realm.
 */
function evaluateInRealm(callFrameId: string, expression: string): unknown {
  let taken: unknown;
  const take = (value: unknown): void => {
    taken = value;
  };
  // The expression sees the user's names, so it needs a name that no program has.
  Object.defineProperty(globalThis, TAKER, { value: take, configurable: true });
  try {
    inspect("Debugger.evaluateOnCallFrame", { callFrameId, expression: `${TAKER}(${expression})`, silent: true });
  } finally {
    Reflect.deleteProperty(globalThis, TAKER);
  }
  return taken;
}

function describe({ callFrameId }: inspector.Debugger.CallFrame): PausedFunction {
  const evaluate = (expression: string): unknown => {
    if (!IS_MAIN_REALM) return evaluateInRealm(callFrameId, expression);
    const { result } = inspect<inspector.Debugger.EvaluateOnCallFrameReturnType>("Debugger.evaluateOnCallFrame", {
      callFrameId,
      expression,
      silent: true,
      objectGroup: PAUSED_GROUP,
    });
    const value = liveValue(result);
    inspect("Runtime.releaseObjectGroup", { objectGroup: PAUSED_GROUP });
    return value;
  };
  return { receiver: () => evaluate("this"), evaluate };
}

/** How to enter the function at a site without running the user's code; undefined when that is not possible. */
export function entryTo({ unit }: CodeSite): Entry | undefined {
  const { node } = unit;
  const fn = isFunctionNode(node) ? node : constructorOf(node);
  const params = fn?.params ?? [];
  if (params.some(hasComputedKey)) return undefined;
  const way = isClassNode(node) ? "construct" : fn?.generator === true ? "iterate" : "call";
  return { parameterCount: params.length, way };
}

function constructorOf(node: AnyNode): FunctionExpression | undefined {
  if (!isClassNode(node)) return undefined;
  for (const member of node.body.body) {
    if (member.type === "MethodDefinition" && member.kind === "constructor") return member.value;
  }
  return undefined;
}

function hasComputedKey(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  if (node.type === "Property" && node.computed) return true;
  for (const child of childrenOf(node)) if (hasComputedKey(child)) return true;
  return false;
}
