import { basename, extname } from "node:path";
import type { AnyNode, MemberExpression } from "acorn";
import { type SourceFile, siteAt, viewFunction } from "../engine/index.ts";
import { pathOf } from "../modules/index.ts";
import { isClass, revivedSource } from "../shipment/index.ts";
import { nodesAround } from "../syntax/index.ts";

const names = new WeakMap<object, string | undefined>();

/**
 * The name in the source for the result of the call that a function literal is an argument of, as `add` in `const add =
 * routine(async () => 1)`; `default` for a default export. Without a name, the place of the function, as `anonymous at
 * app.ts:12`. Undefined when the source is not available. Reads the source of the function's module, as `dismantle`
 * does.
 */
export function writtenName(fn: object): string | undefined {
  if (names.has(fn)) return names.get(fn);
  const name = revivedSource(fn) === undefined ? findName(fn) : undefined;
  names.set(fn, name);
  return name;
}

function findName(fn: object): string | undefined {
  try {
    const { location } = viewFunction(fn);
    const site = location === undefined ? undefined : siteAt(location, isClass(fn));
    if (location === undefined || site === undefined) return undefined;
    return nameInSource(site.file, site.unit.node) ?? placeName(site.file, location.line + 1);
  } catch {
    // A name is optional. The error is thrown again when the function itself has to travel.
    return undefined;
  }
}

function placeName({ script }: SourceFile, line: number): string | undefined {
  const path = pathOf(script.url);
  return path === undefined ? undefined : `anonymous at ${basename(path)}:${line}`;
}

/** The name for the result that is made from the function at a node. */
export function nameInSource(file: SourceFile, node: AnyNode): string | undefined {
  const around = nodesAround(file.program, node);
  const call = around.at(-1);
  if (call?.type !== "CallExpression" || !call.arguments.some((argument) => argument === node)) return undefined;
  const name = nameFrom(around.slice(0, -1), call);
  return name === undefined ? undefined : asDefault(file, name);
}

function nameFrom(around: readonly AnyNode[], value: AnyNode): string | undefined {
  const parent = around.at(-1);
  switch (parent?.type) {
    case "VariableDeclarator":
      return parent.id.type === "Identifier" ? parent.id.name : undefined;
    case "AssignmentExpression":
      return parent.right === value ? targetName(parent.left) : undefined;
    case "AssignmentPattern":
      return parent.left.type === "Identifier" ? parent.left.name : undefined;
    case "Property":
    case "PropertyDefinition":
      return parent.value === value ? keyName(parent.key, parent.computed) : undefined;
    case "ExportDefaultDeclaration":
      return "default";
    case "MemberExpression": {
      // As in `routine(...).with(...)`.
      const call = around.at(-2);
      return call?.type === "CallExpression" && call.callee === parent
        ? nameFrom(around.slice(0, -2), call)
        : undefined;
    }
    case "CallExpression":
      return definedName(parent.arguments, value);
    default:
      return undefined;
  }
}

function targetName(target: AnyNode): string | undefined {
  if (target.type === "Identifier") return target.name;
  if (target.type !== "MemberExpression") return undefined;
  return isModuleExports(target) ? "default" : keyName(target.property, target.computed);
}

function isModuleExports({ object, property, computed }: MemberExpression): boolean {
  if (computed || property.type !== "Identifier" || property.name !== "exports") return false;
  return object.type === "Identifier" && object.name === "module";
}

function keyName(key: AnyNode, isComputed: boolean): string | undefined {
  if (key.type === "Literal") return String(key.value);
  if (isComputed) return undefined;
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Identifier" ? key.name : undefined;
}

/** Transpilers define a field with a call, as `__publicField(this, "add", ...)`. */
function definedName([, key, value]: readonly AnyNode[], wanted: AnyNode): string | undefined {
  return value === wanted && key?.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}

/** Transpilers keep a default export in a variable that they add: esbuild names it after the file. */
function asDefault(file: SourceFile, name: string): string {
  if (/^__(?:vi|vite_ssr)_export_default__$/.test(name)) return "default";
  const path = pathOf(file.script.url.replace(/[?#].*$/, "")) ?? "";
  const stem = basename(path, extname(path)).replace(/\W/g, "_");
  return name === `${stem}_default` || name === "stdin_default" ? "default" : name;
}
