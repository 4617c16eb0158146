import { isObject } from "../../checks/index.ts";
import { intrinsicAt } from "../engine/index.ts";
import {
  builtinAt,
  builtinExports,
  isByInstance,
  type ModuleReference,
  noteOpened,
  openStandIn,
  type StandInSource,
  shapeOf,
  shippedExport,
  stepFrom,
} from "../modules/index.ts";
import {
  type Assembled,
  type Dependency,
  identified,
  isOwnId,
  isRecord,
  isStringList,
  type PlainData,
  runtimeExport,
  type ShippingPolicy,
  wrappedBy,
} from "../shipment/index.ts";
import { assembleBound } from "./assemble-bound.ts";
import { assembleClass, assembleFunction, assembleInner, assembleMember, fallbackClass } from "./assemble-code.ts";
import { ModuleUnavailable, storedModule, titleOfModule } from "./code-store.ts";
import { findModuleVariable } from "./module-variables.ts";
import { requireIn } from "./require-for-code.ts";

type Head = { readonly [key: string]: PlainData };

function found(value: WeakKey | undefined, what: string): Assembled {
  if (value === undefined) throw new Error(`${what} does not exist here`);
  return { value, complete: () => {} };
}

/**
 * Makes a function or class from the result of `dismantle`. Its dependencies must have been accepted before. A function
 * that this process sent out comes back as the original, except in a call. Throws when something that it names does not
 * exist here.
 */
export function assemble(
  head: PlainData,
  early: readonly unknown[],
  { isCall = false, isCaptured = false }: ShippingPolicy = {},
): Assembled {
  if (!isRecord(head)) throw new TypeError("the head of a function is malformed");
  switch (head["kind"]) {
    case "runtime":
      return found(runtimeExport(String(head["name"])), `the runtime's export "${String(head["name"])}"`);
    case "intrinsic":
      return found(intrinsicAt(String(head["path"])), `"${String(head["path"])}"`);
    case "builtin": {
      const path = isStringList(head["path"]) ? head["path"] : [];
      const module = String(head["module"]);
      return found(builtinAt({ module, path }), `"${["node:" + module, ...path].join(".")}"`);
    }
    case "builtin-value": {
      const exports = builtinExports(String(head["module"]));
      return {
        value: exports === undefined ? undefined : Reflect.get(exports, String(head["name"])),
        complete: () => {},
      };
    }
    case "prototype":
      return found(prototypeOf(early[0]), "the prototype of a function");
    case "returning":
      return found(identified(String(head["id"])), "a function that this process sent out");
    case "module":
      return assembleExport(head, false);
    case "wrapped":
      return assembleExport(head, true);
    case "live":
    case "interop":
      return assembleStandIn(head, head["kind"]);
    case "variable":
    case "live-variable":
      return assembleVariable(head, head["kind"] === "live-variable");
    case "bound":
      return assembleBound(head, { isCall, isCaptured });
    case "function":
      return assembleFunction(head, { isCall, isCaptured });
    case "member":
      return assembleMember(head, early);
    case "inner":
      return assembleInner(head, early, { isCall, isCaptured });
    case "require":
      return found(requireIn(String(head["directory"])), "require");
    case "class":
      return assembleClass(head, early);
    default:
      throw new TypeError(`the head of a function is of the unknown kind "${String(head["kind"])}"`);
  }
}

/** Kinds of things that a process has by itself. */
const NAMES: ReadonlySet<PlainData | undefined> = new Set([
  "runtime",
  "intrinsic",
  "builtin",
  "prototype",
  "returning",
]);

/**
 * The result of `assemble`, if this process has it already. Compiles, loads and changes nothing. Undefined for a class
 * or function that was made elsewhere, and for an export of a module that this process has not loaded.
 */
export function findKnown(head: PlainData, early: readonly unknown[]): unknown {
  if (!isRecord(head)) return undefined;
  const { kind, id } = head;
  if (kind === "module") return knownExport(head);
  if (kind === "variable") return knownVariable(head);
  if (NAMES.has(kind)) {
    try {
      return assemble(head, early).value;
    } catch {
      return undefined;
    }
  }
  return typeof id === "string" && isOwnId(id) ? identified(id) : undefined;
}

function knownExport(head: Head): unknown {
  const hash = String(head["module"]);
  const path = isStringList(head["path"]) ? head["path"] : [];
  const sent = shippedExport(hash, path, false);
  if (sent !== undefined) return sent;
  try {
    return storedModule(hash).state === "loaded" ? assembleExport(head, false).value : undefined;
  } catch {
    return undefined;
  }
}

function knownVariable(head: Head): unknown {
  try {
    return storedModule(String(head["module"])).state === "loaded" ? assembleVariable(head, false).value : undefined;
  } catch {
    return undefined;
  }
}

function prototypeOf(fn: unknown): object | undefined {
  const prototype: unknown = isObject(fn) ? Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value : undefined;
  return isObject(prototype) ? prototype : undefined;
}

function assembleStandIn(head: Head, form: StandInSource["form"]): Assembled {
  const module = storedModule(String(head["module"]));
  if (module.state === "unknown") {
    throw notLoaded(module.dependency);
  }
  const source = {
    form,
    module: module.dependency,
    path: isStringList(head["path"]) ? head["path"] : [],
    hasDefault: head["hasDefault"] === true,
    hasMembers: head["hasMembers"] === true,
  };
  return found(openStandIn(module.namespace, source), "");
}

/** A variable of a module that is loaded here, exported or not. */
function assembleVariable(head: Head, isLive: boolean): Assembled {
  const module = storedModule(String(head["module"]));
  const [name = ""] = isStringList(head["path"]) ? head["path"] : [];
  if (module.state === "unknown" && isStringList(head["ancestors"]) && head["ancestors"].length > 0) {
    return found(fallbackClass(`${String(head["module"])}:variable ${name}`, head), "");
  }
  const value = module.state === "unknown" ? undefined : findModuleVariable(module, name, isLive);
  if (value !== undefined) {
    noteOpened(value, referenceTo(module.dependency, [name]), isLive ? "live-variable" : "variable");
    return found(value, "");
  }
  throw new ModuleUnavailable(
    `the variable "${name}" of the module "${titleOfModule(module.dependency)}" cannot be found here`,
    module.dependency,
  );
}

function assembleExport(head: Head, isWrapped: boolean): Assembled {
  const hash = String(head["module"]);
  const path = isStringList(head["path"]) ? head["path"] : [];
  const sent = shippedExport(hash, path, isWrapped);
  if (sent !== undefined) return found(sent, "");
  const module = storedModule(hash);
  if (module.state === "unknown") {
    if (isStringList(head["ancestors"]) && head["ancestors"].length > 0) {
      return found(fallbackClass(`${hash}:${path.join(".")}`, head), "");
    }
    throw notLoaded(module.dependency);
  }
  let current: unknown = module.namespace;
  for (const step of path) current = isObject(current) ? stepFrom(current, step) : undefined;
  const title = `the export "${path.join(".")}" of a module`;
  if (isWrapped) return found(wrappedBy(current)?.fn, `the function inside ${title}`);
  if (!isObject(current) && typeof current !== "symbol") {
    throw new ModuleUnavailable(`${title} does not exist here`, module.dependency, { path });
  }
  const shape =
    isObject(current) && typeof head["shape"] === "string" ? shapeOf(current, isByInstance(path)) : undefined;
  if (shape !== undefined && shape !== head["shape"]) {
    throw new ModuleUnavailable(`${title} has other members here, as with a plugin`, module.dependency);
  }
  noteOpened(current, referenceTo(module.dependency, path), "itself");
  return found(current, title);
}

function notLoaded(module: Dependency): ModuleUnavailable {
  const title = titleOfModule(module);
  const fix = "Import it here, too, or return data instead of what it exports";
  return new ModuleUnavailable(`it has an export of "${title}", which this process has not loaded. ${fix}`, module);
}

function referenceTo(module: Dependency, path: readonly string[]): ModuleReference {
  return { module, path, title: titleOfModule(module), wrapper: undefined };
}
