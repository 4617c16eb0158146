import inspector from "node:inspector";
import type { AnyNode } from "acorn";
import type { CodeSite } from "./code-site.ts";
import { attempt, debuggerPeriod, inspect, listening, withDebugger, withRemoteObject } from "./inspector-session.ts";
import { entryTo, isDebuggerAttached, pauseIn, stuffing } from "./paused-function.ts";
import { afterCapture, unmarked, type VariableAccess } from "./variable-marks.ts";

type Accessors = ReadonlyMap<string, VariableAccess>;

// An accessor keeps its variables alive, so it lives no longer than the function it was made for.
const known = new WeakMap<object, Accessors>();

/** Names that have another meaning where the engine evaluates code, or cannot be used there. */
const UNSAFE_NAME = /^(?:arguments|async|await|eval|get|let|of|set|static|this|yield)$|[^\w$]/;

/**
 * Accessors of variables around a function; undefined when the function cannot be entered. The engine makes them inside
 * the function, before its first statement; none of its code runs. Turns the debugger on.
 */
export function liveVariables(fn: object, site: CodeSite, names: readonly string[]): Accessors | undefined {
  const existing = known.get(fn);
  if (existing !== undefined && names.every((name) => existing.has(name))) return existing;
  if (names.some((name) => UNSAFE_NAME.test(name))) return undefined;
  const made = isQuicklyEntered(site) && worksQuickly() ? enterQuickly(fn, names, site) : enterSlowly(fn, site, names);
  if (made === undefined) return undefined;
  const accessors = new Map([...(existing ?? []), ...made]);
  known.set(fn, accessors);
  return accessors;
}

/** The accessors that were made for a function before. */
export function knownLiveVariables(fn: object): Accessors | undefined {
  return known.get(fn);
}

/**
 * Lets a function use an accessor that was made inside another one. Both must have captured the same variable of the
 * same activation.
 */
export function adoptLiveVariable(fn: object, name: string, access: VariableAccess): void {
  const existing = known.get(fn);
  if (existing?.has(name) !== true) known.set(fn, new Map([...(existing ?? []), [name, access]]));
}

/** The `this` of an arrow function; undefined when the function cannot be entered. */
export function outerReceiver(fn: object, site: CodeSite): { readonly value: unknown } | undefined {
  if (isQuicklyEntered(site) && worksQuickly()) {
    const taken = takeQuickly(fn, "[this]", site);
    if (Array.isArray(taken)) return { value: taken[0] };
  }
  const entry = entryTo(site);
  return entry === undefined ? undefined : pauseIn(fn, entry, (paused) => ({ value: paused.receiver() }));
}

/**
 * The value of an expression inside a function, before its first statement: it sees the private names of the class
 * around. Undefined when the function cannot be entered. None of its code runs. Turns the debugger on.
 */
export function evaluateInside(fn: object, site: CodeSite, expression: string): unknown {
  if (isQuicklyEntered(site) && worksQuickly()) return takeQuickly(fn, expression, site);
  const entry = entryTo(site);
  return entry === undefined ? undefined : pauseIn(fn, entry, (paused) => paused.evaluate(expression));
}

function accessorText(names: readonly string[]): string {
  return `[${names.map((name) => `[()=>${name},v=>{${name}=v}]`).join()}]`;
}

function toAccessors(names: readonly string[], made: unknown): Accessors | undefined {
  if (!Array.isArray(made) || made.length !== names.length) return undefined;
  const accessors = new Map<string, VariableAccess>();
  for (const [index, name] of names.entries()) {
    const pair: unknown = made[index];
    const [get, set]: unknown[] = Array.isArray(pair) ? pair : [];
    if (!isFunction(get) || !isFunction(set)) return undefined;
    accessors.set(name, { get: () => unmarked(get()), set: (value) => void set(value) });
  }
  return accessors;
}

function isFunction(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === "function";
}

function enterSlowly(fn: object, site: CodeSite, names: readonly string[]): Accessors | undefined {
  const entry = entryTo(site);
  if (entry === undefined) return undefined;
  return pauseIn(fn, entry, (paused) => toAccessors(names, paused.evaluate(accessorText(names))));
}

/**
 * True when the first place in a function where the engine can stop is also reached first at run time. A call in the
 * default of a parameter would run before it, and a generator does not start when it is called.
 */
export function isQuicklyEntered({ unit, form }: CodeSite): boolean {
  const { node } = unit;
  if (form === "class" || !("params" in node) || node.generator === true) return false;
  return node.params.every(isSimplePattern);
}

/** True for a parameter that is set without a stop, other than at the first of its names. */
function isSimplePattern(node: AnyNode | null): boolean {
  switch (node?.type) {
    case "RestElement":
      return isSimplePattern(node.argument);
    case "AssignmentPattern":
      return isSimplePattern(node.left) && isWithoutStop(node.right);
    case "ArrayPattern":
      return node.elements.every(isSimplePattern);
    case "ObjectPattern":
      return node.properties.every(isSimplePattern);
    case "Property":
      return !node.computed && isSimplePattern(node.value);
    default:
      return node === null || node?.type === "Identifier";
  }
}

/** True for an expression in which the engine cannot stop. */
function isWithoutStop(node: AnyNode): boolean {
  switch (node.type) {
    case "Identifier":
    case "Literal":
    case "ThisExpression":
      return true;
    case "MemberExpression":
      return !node.computed && isWithoutStop(node.object);
    case "ObjectExpression":
      return node.properties.length === 0;
    case "ArrayExpression":
      return node.elements.length === 0;
    default:
      return false;
  }
}

const TAKER = `$wool_${Math.random().toString(36).slice(2)}`;
const ENTER = Symbol.for("wool-ts.functions.enter");

/**
 * Stopping at each function and describing the whole stack costs milliseconds. A breakpoint with a condition costs a
 * tenth: the condition is evaluated inside the function, passes the wanted value on and ends the call. If the condition
 * fails, the breakpoint stops the function instead.
 */
function takeQuickly(fn: object, expression: string, site: CodeSite | undefined): unknown {
  if (!isFunction(fn)) return undefined;
  const node = site?.unit.node;
  const count = node !== undefined && "params" in node ? node.params.length : fn.length;
  const fill = new Array<unknown>(count).fill(stuffing);
  let taken: unknown;
  const take = (made: unknown): boolean => {
    taken = made;
    inspect("Runtime.terminateExecution");
    return false;
  };
  withDebugger(() => {
    if (!isArmed(expression, site)) arm(fn, expression, site);
    // The condition sees the user's names, so it needs a name that no program has. It is removed before anything else
    // runs.
    Object.defineProperty(globalThis, TAKER, { value: take, configurable: true });
    Object.defineProperty(inspector, ENTER, { value: () => fn(...fill), configurable: true });
    try {
      listening("Debugger.paused", () => inspect("Runtime.terminateExecution"), enter);
    } finally {
      Reflect.deleteProperty(inspector, ENTER);
      Reflect.deleteProperty(globalThis, TAKER);
      afterCapture(disarm);
    }
  });
  return taken;
}

function enterQuickly(fn: object, names: readonly string[], site?: CodeSite): Accessors | undefined {
  return toAccessors(names, takeQuickly(fn, accessorText(names), site));
}

interface Breakpoint {
  readonly site: CodeSite | undefined;
  readonly expression: string;
  readonly breakpointId: string;
  readonly period: number;
}

/** Functions made at the same place share their breakpoint, so it stays until another one is needed. */
let armed: Breakpoint | undefined;

/** Whether the breakpoint is certainly set: without it the user's function would run. */
function isArmed(expression: string, site: CodeSite | undefined): boolean {
  if (site === undefined || armed === undefined || armed.period !== debuggerPeriod()) return false;
  return armed.site === site && armed.expression === expression;
}

function arm(fn: object, expression: string, site: CodeSite | undefined): void {
  disarm();
  const condition = `(()=>{try{return ${TAKER}(${expression})}catch{return true}})()`;
  const { breakpointId } = withRemoteObject(fn, (objectId) =>
    inspect<{ breakpointId: string }>("Debugger.setBreakpointOnFunctionCall", { objectId, condition }),
  );
  armed = { site, expression, breakpointId, period: debuggerPeriod() };
}

function disarm(): void {
  if (armed === undefined) return;
  const { breakpointId, period } = armed;
  armed = undefined;
  if (period !== debuggerPeriod()) return;
  withDebugger(() => inspect("Debugger.removeBreakpoint", { breakpointId }));
}

/** Runs the call as an evaluation: a termination ends there. */
function enter(): void {
  attempt("Runtime.evaluate", {
    expression: `process.getBuiltinModule("node:inspector")[Symbol.for("${ENTER.description}")]()`,
    silent: true,
  });
}

let isQuickWay: boolean | undefined;

/**
 * Whether this version of the engine ends a call from inside a condition. Tried once with our own function; while a
 * debugger may be attached, each time: it may keep breakpoints from working, and then a function of the user's would run.
 */
function worksQuickly(): boolean {
  if (isQuickWay !== undefined && !isDebuggerAttached()) return isQuickWay;
  let runs = 0;
  let probe = 1;
  const holder = { probe };
  const canary = (_: unknown, a = probe, b = holder.probe, c = {}, d = [], e = 1, ...rest: unknown[]): unknown => {
    runs += 1;
    probe += 1;
    return [a, b, c, d, e, rest];
  };
  const pattern = ({ a = 1, b: [c = probe] = [], ...rest } = { b: [1] }): unknown => {
    runs += 1;
    return [a, c, rest, (probe += 1)];
  };
  isQuickWay = [canary, pattern].every((fn, index) => {
    const variable = Object.isExtensible(globalThis) ? enterQuickly(fn, ["probe"])?.get("probe") : undefined;
    variable?.set(index + 7);
    return runs === 0 && probe === index + 7 && variable?.get() === probe;
  });
  return isQuickWay;
}
