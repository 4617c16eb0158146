import { types } from "node:util";
import type { AnyNode } from "acorn";
import { type FreeName, unmarked } from "../engine/index.ts";
import { builtinExports, noteImport } from "../modules/index.ts";
import type { Binding } from "../syntax/index.ts";
import { Borrowed } from "./references.ts";

const copies = new WeakMap<object, Map<string, object>>();

/** The module whose exports a variable holds as an object, according to its declaration; undefined when none. */
export function moduleObjectOf(binding: Binding | undefined): string | undefined {
  if (binding === undefined) return undefined;
  if (binding.imported !== undefined) return binding.imported.imported === "*" ? binding.imported.source : undefined;
  const { declaration, writes } = binding;
  if (writes.length > 0 || declaration?.type !== "VariableDeclarator" || declaration.id.type !== "Identifier") {
    return undefined;
  }
  return loadedSpecifier(declaration.init);
}

const LOADERS = /^(?:require|import|__(?:vi|vite_ssr)_(?:import|dynamic_import)__)$/;

/** The module that an expression loads; sees through what transpilers put around a `require` or an `import()`. */
export function loadedSpecifier(node: AnyNode | null | undefined): string | undefined {
  if (node?.type === "AwaitExpression") return loadedSpecifier(node.argument);
  if (node?.type === "ImportExpression") return literalOf(node.source);
  if (node?.type !== "CallExpression") return undefined;
  const [first] = node.arguments;
  if (node.callee.type === "Identifier" && LOADERS.test(node.callee.name)) return literalOf(first);
  const isWrapper = /^(?:_?_?(?:interopRequire\w*|toESM|importStar|importDefault))$/.test(calleeName(node.callee));
  return isWrapper ? loadedSpecifier(first) : undefined;
}

function calleeName(node: AnyNode): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "SequenceExpression") return calleeName(node.expressions.at(-1) ?? node.expressions[0] ?? node);
  return node.type === "MemberExpression" && node.property.type === "Identifier" ? node.property.name : "";
}

function literalOf(node: AnyNode | undefined): string | undefined {
  return node?.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}

/** True for an object that a module loader or a transpiler makes for a module, and for ordinary `exports`. */
export function isModuleObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  // Test runners make a Proxy.
  if (types.isModuleNamespaceObject(value) || types.isProxy(value)) return true;
  const prototype = Reflect.getPrototypeOf(value);
  // Transpilers make objects with the last prototype from exports that are a function.
  return prototype === null || prototype === Object.prototype || prototype === Function.prototype;
}

/**
 * An object with the exports of a module that a piece of code uses, for a module that cannot travel by name. It has all
 * exports when the code does more than read members.
 */
export function copyOfModule(module: object, free: FreeName, specifier: string, importer: string): object {
  const members = usedMembers(free) ?? Object.keys(module);
  const key = members.join();
  const known = copies.get(module) ?? new Map<string, object>();
  copies.set(module, known);
  const copy = known.get(key) ?? Object.create(null);
  known.set(key, copy);
  const builtin = builtinExports(specifier);
  for (const member of members) {
    if (!Reflect.has(module, member)) continue;
    const value = unmarked(Reflect.get(module, member));
    noteImport(value, specifier, member, importer);
    const isShared = builtin !== undefined && isPrimitive(value) && Reflect.has(builtin, member);
    Reflect.set(copy, member, isShared ? Borrowed.exportOf(builtin, member) : value);
  }
  return copy;
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== "object" || value === null) && typeof value !== "function";
}

/** The members that a piece of code reads of a variable; undefined when it does anything else with it. */
function usedMembers({ references }: FreeName): string[] | undefined {
  const members = new Set<string>();
  for (const { position } of references) {
    if (position.type !== "member") return undefined;
    members.add(position.property);
  }
  return [...members].sort();
}
