import {
  type CodeSite,
  captureNumber,
  type FunctionView,
  hasDebugger,
  knownLiveVariables,
  liveVariables,
  readVariable,
  type ScopeView,
  UNINITIALISED,
  type VariableAccess,
  viewFunction,
} from "../engine/index.ts";
import type { CapturedVariable } from "../variables/index.ts";
import type { CapturedValue } from "./captured-values.ts";

/** The variables of a function whose scopes have to be read again for each call. */
interface ReadBefore {
  times: number;
  /** The variables whose values may have changed. */
  readonly changing: readonly string[];
  /** The other variables, which do not change any more. */
  readonly settled: Readonly<Record<string, unknown>>;
}

const readBefore = new WeakMap<object, ReadBefore>();

/**
 * Accessors need the debugger, which takes tens of milliseconds and makes each `await` a little slower for good. For a
 * function that is sent only sometimes that is not worthwhile.
 */
const TIMES_BEFORE_ACCESSORS = 50;

let hurried: number | undefined;

/** Makes the rest of the capture under way read variables with accessors: a slow capture is worth them at once. */
export function hurryAccessors(): void {
  hurried = captureNumber();
}

/** True for a function whose scopes the engine has to show again, since its variables may have changed. */
export function isReadAgain(fn: object): boolean {
  const known = readBefore.get(fn);
  return known !== undefined && !hasAccessors(fn, known);
}

/** True when all variables that may have changed can be read without the engine. */
function hasAccessors(fn: object, { changing }: ReadBefore): boolean {
  return accessorsFor(fn, changing) !== undefined;
}

function accessorsFor(fn: object, names: readonly string[]): ReadonlyMap<string, VariableAccess> | undefined {
  const live = knownLiveVariables(fn);
  return live !== undefined && names.every((name) => live.has(name)) ? live : undefined;
}

/** Remembers the variables in the scopes of a function, for the next time. */
export function noteRead(
  fn: object,
  variables: readonly CapturedVariable[],
  captured: ReadonlyMap<string, CapturedValue>,
): void {
  const known = readBefore.get(fn);
  if (known !== undefined) {
    known.times += 1;
    return;
  }
  // Variables outside of the user's scopes are found without the engine, or cannot be read with an accessor.
  const inScopes = variables.filter(({ scope }) => scope !== undefined);
  if (inScopes.some(({ name, scope }) => scope?.description === "Script" || name === "arguments")) return;
  const changing = inScopes.filter(({ name }) => captured.get(name)?.isFixed !== true).map(({ name }) => name);
  const settled = inScopes.filter(({ name }) => !changing.includes(name)).map(({ name, value }) => [name, value]);
  readBefore.set(fn, { times: 1, changing, settled: Object.fromEntries(settled) });
}

/**
 * The scopes of a function as they are now. Once there are accessors they are read by those, which takes microseconds
 * instead of a tenth of a millisecond. After some calls they are made for that.
 */
export function scopesOf(fn: object, site: CodeSite, source: () => FunctionView): readonly ScopeView[] {
  const known = readBefore.get(fn);
  const isHurried = hurried !== undefined && hurried === captureNumber();
  if (known === undefined) return source().scopes;
  if (!hasAccessors(fn, known) && known.times < TIMES_BEFORE_ACCESSORS && !isHurried) return source().scopes;
  const live = liveVariables(fn, site, known.changing);
  if (live === undefined) {
    known.times = Number.NEGATIVE_INFINITY;
    return source().scopes;
  }
  const variables: Record<string, unknown> = { ...known.settled };
  for (const name of known.changing) {
    const get = (): unknown => live.get(name)?.get();
    Object.defineProperty(variables, name, { get, enumerable: true });
  }
  return [{ description: "Closure", variables, isPartial: true }];
}

/** To ask the engine about more functions than this before each call takes milliseconds. */
const MOST_ASKED = 8;
let asking: number | undefined;
let asked = 0;

/**
 * Tells whether variables around a function hold these values. It asks the engine, which takes a tenth of a millisecond,
 * and some times that in the large scopes of packages. After some calls, and while the debugger is on anyway, it makes
 * accessors. Undefined when the capture under way has asked for too many functions already.
 */
export function variableCheck(
  fn: object,
  site: CodeSite,
  names: readonly string[],
  held: readonly unknown[],
): (() => boolean) | undefined {
  const capture = captureNumber();
  if (capture !== asking) asked = 0;
  asking = capture;
  asked += 1;
  if (asked > MOST_ASKED) return undefined;
  let times = 0;
  let accessors: readonly VariableAccess[] | undefined;
  return () => {
    if (accessors !== undefined) return hold(accessors, held);
    const isTime = times === TIMES_BEFORE_ACCESSORS || (times === 0 && hasDebugger());
    times += 1;
    const live = accessorsFor(fn, names) ?? (isTime ? liveVariables(fn, site, names) : undefined);
    if (live !== undefined) {
      accessors = names.flatMap((name) => live.get(name) ?? []);
      return hold(accessors, held);
    }
    const { scopes } = viewFunction(fn);
    return names.every((name, index) => Object.is(readIn(scopes, name), held[index]));
  };
}

/** This is done at each call, so it makes no lists. */
function hold(accessors: readonly VariableAccess[], held: readonly unknown[]): boolean {
  try {
    for (let index = 0; index < held.length; index += 1) {
      if (!Object.is(accessors[index]?.get(), held[index])) return false;
    }
    return true;
  } catch {
    // Not initialised yet.
    return false;
  }
}

function readIn(scopes: readonly ScopeView[], name: string): unknown {
  const scope = scopes.find(
    ({ description, variables }) => !description.startsWith("Global") && Object.hasOwn(variables, name),
  );
  return scope === undefined ? UNINITIALISED : readVariable(scope, name, UNINITIALISED);
}
