import type inspector from "node:inspector";
import { foreseenAfter, internalsOf, liveValues, withRemoteObject } from "./inspector-session.ts";
import {
  afterCapture,
  asOneCapture,
  captureNumber,
  hasMarks,
  markOwner,
  marksVersion,
  unmarked,
} from "./variable-marks.ts";

/** One scope of a function as V8 reports it: a snapshot whose values are the real ones. */
export interface ScopeView {
  /** `Module`, `Closure (name)`, `Block`, `Catch`, `Script`, `Global`, ... */
  readonly description: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The owner of the mark in one of the variables, if there is one. */
  readonly mark?: object | undefined;
  /** It was not read from the engine: it has only the variables that one function uses, and shows no marks. */
  readonly isPartial?: boolean;
}

/** Tells a variable that is not initialised from one that holds `undefined`. */
export const UNINITIALISED = Symbol("uninitialised");

/** What a variable of a scope holds; `uninitialised` where it is not initialised yet. */
export function readVariable({ variables }: ScopeView, name: string, uninitialised?: unknown): unknown {
  try {
    return variables[name];
  } catch {
    return uninitialised;
  }
}

/** Where a function starts according to V8: lines and columns count from 0. */
export interface FunctionLocation {
  readonly scriptId: string;
  readonly line: number;
  readonly column: number;
}

/** The target, `this` and arguments of a bound function. */
export interface BoundView {
  readonly target: object;
  readonly self: unknown;
  readonly args: readonly unknown[];
}

/** The facts that V8 has about one function object. */
export interface FunctionView {
  readonly location: FunctionLocation | undefined;
  /** Innermost first. */
  readonly scopes: readonly ScopeView[];
  readonly bound: BoundView | undefined;
}

/** The engine's own list of the scopes of a function. */
type ScopeList = ArrayLike<{ readonly description: string; readonly object: ScopeView["variables"] }>;

function isScopeList(value: unknown): value is ScopeList {
  return typeof value === "object" && value !== null && "length" in value;
}

function locationOf(value: unknown): FunctionLocation | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!("scriptId" in value) || !("lineNumber" in value) || !("columnNumber" in value)) return undefined;
  return { scriptId: String(value.scriptId), line: Number(value.lineNumber), column: Number(value.columnNumber) };
}

/** The scope with the real values of its variables, and the owner of the mark that was in one of them. */
function withoutMarks(scope: ScopeView): ScopeView {
  let mark: object | undefined;
  if (/^(?:Global|Module|Script)/.test(scope.description)) return scope;
  for (const name of Object.keys(scope.variables)) {
    const value = readVariable(scope, name);
    const owner = markOwner(value);
    if (owner === undefined) continue;
    mark = owner;
    Reflect.set(scope.variables, name, unmarked(value));
  }
  return mark === undefined ? scope : { ...scope, mark };
}

/** Location, scopes and binding of a function, without turning the debugger on. */
export function viewFunction(fn: object): FunctionView {
  return asOneCapture(() => {
    if (readIn !== captureNumber()) {
      readIn = captureNumber();
      afterCapture(forget);
    }
    const ahead = readAhead;
    readAhead = undefined;
    if (ahead !== undefined) {
      const isCurrent = ahead.fn === fn && ahead.version === marksVersion();
      credit = Math.min(MOST_CREDIT, credit + (isCurrent ? 1 : -1));
      if (isCurrent) return ahead.view;
    }
    const next = hasMarks() && credit > 0 ? foreseenAfter(fn) : undefined;
    const [view, nextView] = viewTogether(next === undefined ? [fn] : [fn, next]);
    if (view === undefined) throw new Error("the inspector did not return the function");
    if (next !== undefined && nextView !== undefined) readAhead = { fn: next, view: nextView, version: marksVersion() };
    return view;
  });
}

/**
 * The function after the one that was viewed last. While there are marks, the debugger is on, and taking scopes compiles
 * a script each time; for two functions together it takes one. Closures that share variables in pairs take 0.82x to
 * 0.88x of the time. If the first function gets a mark, what was read of the second is out of date, so `credit` counts
 * how often that happens.
 */
let readAhead: { readonly fn: object; readonly view: FunctionView; readonly version: number } | undefined;
const MOST_CREDIT = 4;
let credit = MOST_CREDIT;
let readIn: number | undefined;

function forget(): void {
  readAhead = undefined;
  credit = MOST_CREDIT;
}

function viewTogether(functions: readonly object[]): FunctionView[] {
  const internals = functions.map((fn) => withRemoteObject(fn, internalsOf));
  const find = (index: number, name: string): Remote => internals[index]?.find((each) => each.name === name)?.value;
  const lists = functions.flatMap((_, index) => find(index, "[[Scopes]]") ?? []);
  const taken = liveValues(lists);
  return functions.map((_, index) => {
    const list = find(index, "[[Scopes]]") === undefined ? undefined : taken.shift();
    const scopes = isScopeList(list)
      ? Array.from(list, ({ description, object }) => ({ description, variables: object }))
      : [];
    return {
      location: locationOf(find(index, "[[FunctionLocation]]")?.value),
      scopes: hasMarks() ? scopes.map(withoutMarks) : scopes,
      bound: viewBound(find(index, "[[TargetFunction]]"), find(index, "[[BoundThis]]"), find(index, "[[BoundArgs]]")),
    };
  });
}

type Remote = inspector.Runtime.RemoteObject | undefined;

function viewBound(target: Remote, self: Remote, args: Remote): BoundView | undefined {
  if (target === undefined || self === undefined || args === undefined) return undefined;
  return boundFrom(liveValues([target, self, args]));
}

function boundFrom([target, self, args]: readonly unknown[]): BoundView | undefined {
  if (typeof target !== "function") return undefined;
  return { target, self, args: Array.isArray(args) ? [...args] : [] };
}

/** The target, `this` and arguments of bound functions; undefined for each function that is not bound. */
export function viewBoundFunctions(functions: readonly object[]): (BoundView | undefined)[] {
  return asOneCapture(() => {
    const internals = functions.map((fn) => {
      const found = withRemoteObject(fn, internalsOf);
      return BOUND.flatMap((name) => found.find((property) => property.name === name)?.value ?? []);
    });
    const values = liveValues(internals.flat());
    return internals.map(({ length }) => (length === 0 ? undefined : boundFrom(values.splice(0, length))));
  });
}

const BOUND = ["[[TargetFunction]]", "[[BoundThis]]", "[[BoundArgs]]"];
