import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { type CodeSite, liveVariables, type ScopeView, scriptOf, siteAt, viewFunction } from "../engine/index.ts";
import { isReader, pathOf } from "../modules/index.ts";
import { isClass, wrappedBy } from "../shipment/index.ts";
import { isModuleLevel } from "../syntax/index.ts";
import { moduleFile, type StoredModule } from "./code-store.ts";

/*
 * The variables of a module that this process has loaded, exported or not. The scopes of any function of the module
 * show them, so such a function is searched among its exports.
 */

type Loaded = Extract<StoredModule, { readonly state: "loaded" }>;

const anchors = new WeakMap<object, readonly object[]>();
const constants = new WeakMap<object, Map<string, object>>();
const cells = new WeakMap<object, Map<string, object>>();

/** The value of a variable; with `isLive` an object whose `v` is the variable. Undefined when it cannot be found. */
export function findModuleVariable(module: Loaded, name: string, isLive: boolean): object | undefined {
  const all = isLive ? cells : constants;
  const known = all.get(module.namespace) ?? new Map<string, object>();
  all.set(module.namespace, known);
  const variable = known.get(name) ?? (isLive ? makeCell(module, name) : readConstant(module, name));
  if (variable !== undefined) known.set(name, variable);
  return variable;
}

function readConstant(module: Loaded, name: string): object | undefined {
  for (const { scopes } of usersOf(module, name)) {
    const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name));
    const value = scope === undefined ? undefined : read(scope, name);
    if (isObject(value)) return value;
  }
  return undefined;
}

function read({ variables }: ScopeView, name: string): unknown {
  try {
    return variables[name];
  } catch {
    // Not initialised yet.
    return undefined;
  }
}

function makeCell(module: Loaded, name: string): object | undefined {
  for (const { fn, site } of usersOf(module, name)) {
    const access = isClass(fn) ? undefined : liveVariables(fn, site, [name])?.get(name);
    if (access !== undefined) {
      return {
        get v() {
          return access.get();
        },
        set v(value) {
          access.set(value);
        },
      };
    }
  }
  return undefined;
}

/** Functions of the module that use the variable: the name has the same meaning in them. */
function* usersOf(
  module: Loaded,
  name: string,
): Generator<{ readonly fn: object; readonly site: CodeSite; readonly scopes: readonly ScopeView[] }> {
  for (const fn of anchorsOf(module)) {
    const { location, scopes } = viewFunction(fn);
    const site = location === undefined ? undefined : siteAt(location, isClass(fn));
    const binding = site?.free.get(name)?.binding;
    if (site === undefined || binding === undefined || !isModuleLevel(binding.scope, site.file.program)) continue;
    yield { fn, site, scopes };
  }
}

const MAX_ANCHORS = 32;
const MAX_DEPTH = 3;

/** Functions that a module defines, found through its exports. */
function anchorsOf(module: Loaded): readonly object[] {
  const known = anchors.get(module.namespace);
  if (known !== undefined) return known;
  const path = moduleFile(module.dependency);
  const found: object[] = [];
  const seen = new Set<object>([module.namespace]);
  let level: object[] = [module.namespace];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    for (const value of level) {
      if (typeof value === "function" && found.length < MAX_ANCHORS && isDefinedIn(path, value)) found.push(value);
    }
    level = level.flatMap(heldBy).filter((value) => !seen.has(value) && seen.add(value));
  }
  if (found.length > 0) anchors.set(module.namespace, found);
  return found;
}

function isDefinedIn(path: string, fn: object): boolean {
  const { location } = viewFunction(fn);
  const url = location === undefined ? undefined : scriptOf(location.scriptId)?.url;
  return url !== undefined && pathOf(url) === path;
}

/** The values that an object holds. Runs no accessors except those that a transpiler makes for exports. */
function heldBy(holder: object): object[] {
  if (types.isProxy(holder)) return [];
  const inside = wrappedBy(holder)?.fn;
  const held: unknown[] = [inside];
  for (const key of Reflect.ownKeys(holder)) {
    const { value, get }: PropertyDescriptor = Reflect.getOwnPropertyDescriptor(holder, key) ?? {};
    held.push(isReader(get) ? Reflect.get(holder, key) : value, get);
  }
  if (types.isMap(holder)) held.push(...Map.prototype.values.call(holder));
  if (typeof holder === "object") held.push(Reflect.getPrototypeOf(holder));
  return held.filter(isObject).filter((value) => value !== Object.prototype && value !== Function.prototype);
}
