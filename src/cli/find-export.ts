import { types } from "node:util";
import { isObject, nearestName } from "../checks/index.ts";
import { UsageError } from "./command.ts";

/** A function, class or routine that a module exports. */
export interface FoundExport {
  /** `add`, `api.fetchPage`, `Shop.prototype.price`. */
  readonly path: string;
  readonly subject: object;
  /** The object that has it as a method; undefined for an export. */
  readonly holder: object | undefined;
}

/**
 * What a path such as `api.fetchPage` names in a module. For an accessor it is the getter.
 *
 * @throws UsageError when it does not exist, or is not a function
 */
export function findExport(namespace: object, path: string, file: string): FoundExport {
  let holder: object | undefined;
  let value: unknown = namespace;
  let walked = "";
  for (const name of path.split(".")) {
    if (!isObject(value)) throw new UsageError(`${walked} of ${file} is ${kindOf(value)}, which has no ${name}.`);
    const found = memberOf(value, name) ?? (value === namespace ? memberOfDefault(namespace, name) : undefined);
    if (found === undefined)
      throw missing(value, name, walked === "" ? file : `${walked} of ${file}`, value === namespace);
    holder = found.holder === namespace ? undefined : found.holder;
    value = found.value;
    walked = walked === "" ? name : `${walked}.${name}`;
  }
  if (typeof value === "function") return { path, subject: value, holder };
  const members = isObject(value) ? functionsIn(value).map((name) => `${path}.${name}`) : [];
  const hint = members.length === 0 ? "" : ` It holds: ${members.join(", ")}.`;
  throw new UsageError(`${path} of ${file} is ${kindOf(value)}, not a function, class or routine.${hint}`);
}

/** Every function, class and routine that a module exports, including members of exported objects; each once. */
export function listExports(namespace: object): FoundExport[] {
  const found = new Map<object, FoundExport>();
  const add = (path: string, subject: object, holder: object | undefined): void => {
    if (!found.has(subject)) found.set(subject, { path, subject, holder });
  };
  for (const name of exportNames(namespace)) {
    const value: unknown = memberOf(namespace, name)?.value;
    if (typeof value === "function") add(name, value, undefined);
    else if (isObject(value) && isNamespace(value)) {
      for (const key of functionsIn(value)) {
        const member: unknown = memberOf(value, key)?.value;
        if (typeof member === "function") add(`${name}.${key}`, member, value);
      }
    }
  }
  return [...found.values()];
}

/** The names under which a module exports something. */
export function exportNames(namespace: object): string[] {
  return Object.keys(namespace).filter((name) => name !== "module.exports" && name !== "__esModule");
}

interface Member {
  readonly holder: object;
  readonly value: unknown;
}

function memberOf(holder: object, name: string): Member | undefined {
  for (let object: object | null = holder; object !== null; object = Reflect.getPrototypeOf(object)) {
    const property = Reflect.getOwnPropertyDescriptor(object, name);
    if (property !== undefined)
      return { holder, value: "value" in property ? property.value : (property.get ?? property.set) };
  }
  return undefined;
}

/** Node.js does not recognize every member of `module.exports` as a named export. */
function memberOfDefault(namespace: object, name: string): Member | undefined {
  const exports: unknown = memberOf(namespace, "default")?.value;
  return isObject(exports) && Object.hasOwn(exports, name) ? memberOf(exports, name) : undefined;
}

function functionsIn(object: object): string[] {
  return Object.keys(object).filter((name) => typeof memberOf(object, name)?.value === "function");
}

function missing(holder: object, name: string, where: string, isModule: boolean): UsageError {
  const names = isModule ? exportNames(holder) : Object.getOwnPropertyNames(holder).filter((each) => each !== "length");
  const near = nearestName(name, names);
  const verb = isModule ? "exports" : "has";
  const list = names.length === 0 ? `It ${verb} nothing.` : `It ${verb}: ${names.join(", ")}.`;
  return new UsageError(
    `${where} has no ${isModule ? "export " : ""}${name}.${near === undefined ? "" : ` Did you mean ${near}?`} ${list}`,
  );
}

function isNamespace(value: object): boolean {
  const prototype = Reflect.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || types.isModuleNamespaceObject(value);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
