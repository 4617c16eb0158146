import {
  type CodeSite,
  type FunctionLocation,
  type FunctionView,
  isStandardGlobal,
  type Script,
  scriptOf,
  siteAt,
  siteOf,
  viewFunction,
} from "../engine/index.ts";
import { exportOf, indexImportsOf, type ModuleReference, noteNamespaces } from "../modules/index.ts";
import {
  type AnyFunction,
  isClass,
  overridesVersion,
  ShippingError,
  sourceTextOf,
  titleOfFunction,
} from "../shipment/index.ts";
import { analyzeScopes, isFunctionNode, parseSource, usesOwnReceiver } from "../syntax/index.ts";

/** The facts of a function, known without asking the engine again. */
export interface FunctionFacts {
  readonly site: CodeSite;
  /** The export that is this function, or that wraps it. */
  readonly exported: ModuleReference | undefined;
}

const known = new WeakMap<object, FunctionFacts & { readonly version: number }>();

/**
 * Where a function that is not bound was written, and where it is exported. Throws `ShippingError` when its source is
 * not available.
 *
 * @param view - asks the engine; called only if the facts are not known yet
 */
export function factsOf(fn: AnyFunction, view: () => FunctionView = () => viewFunction(fn)): FunctionFacts {
  const version = overridesVersion();
  const existing = known.get(fn);
  if (existing !== undefined && existing.version === version) return existing;
  const seen = view();
  const { site, script } = locate(fn, seen);
  indexImportsOf(script, seen.scopes);
  noteNamespaces(script, seen.scopes);
  const facts = { site, exported: exportOf(fn, script, site.unit, seen.scopes), version };
  known.set(fn, facts);
  return facts;
}

/** True when `factsOf` need not ask the engine. */
export function hasFacts(fn: AnyFunction): boolean {
  return known.get(fn)?.version === overridesVersion();
}

function locate(fn: AnyFunction, view: FunctionView): { site: CodeSite; script: Script } {
  const script = view.location === undefined ? undefined : scriptOf(view.location.scriptId);
  if (view.location === undefined || script === undefined) {
    throw new ShippingError(
      `${titleOfFunction(fn)} is native code and not an export of a module`,
      [],
      "make it inside the routine",
    );
  }
  if (script.source === undefined) {
    throw new ShippingError(
      `${titleOfFunction(fn)} was made inside Node.js (${script.url}) and is not one of its exports`,
      [],
      isClass(fn)
        ? "make the instance inside the routine, from data that is passed"
        : "make it inside the routine, such as by calling util.promisify there",
    );
  }
  const site = readSite(fn, view.location, script);
  if (site === undefined || site.file.source.slice(site.range.start, site.range.end) !== sourceTextOf(fn)) {
    throw new ShippingError(
      `the source of ${titleOfFunction(fn)} was not found in ${script.url}`,
      [],
      "define it in a file",
    );
  }
  return { site, script };
}

function readSite(fn: AnyFunction, location: FunctionLocation, { url }: Script): CodeSite | undefined {
  try {
    return siteAt(location, isClass(fn));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ShippingError(
      `${titleOfFunction(fn)} at ${url}:${location.line + 1} is in a file with syntax that cannot be read: ${error.message}`,
      [],
      "move the function into a separate module",
    );
  }
}

/**
 * The code of a function that uses only its parameters and standard globals, read from its own text; undefined when it
 * uses anything else.
 */
export function selfContainedSite(fn: object): CodeSite | undefined {
  const source = `(${sourceTextOf(fn)}\n)`;
  try {
    const program = parseSource(source, true);
    const script = { id: "", url: "", isModule: true, startLine: 0, startColumn: 0, sourceMapUrl: "", source };
    const file = { script, source, program, analysis: analyzeScopes(program), lineStarts: [0] };
    const [unit] = file.analysis.units;
    if (unit === undefined || !isFunctionNode(unit.node) || unit.node.start !== 1) return undefined;
    const site = siteOf(file, unit);
    const isClosed = [...site.free.keys()].every((name) => isStandardGlobal(name)) && site.outward.length === 0;
    return isClosed ? site : undefined;
  } catch {
    // A method, a class member, or code that cannot be parsed by itself.
    return undefined;
  }
}

/** True for a function that uses its own `this` or `super`: its result depends on the object that it is called on. */
export function usesReceiver(fn: object): boolean {
  return usesOwnReceiver(sourceTextOf(fn));
}
