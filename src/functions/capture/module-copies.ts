import { types } from "node:util";
import type { AnyNode, CallExpression } from "acorn";
import { isReassigned } from "../emit/index.ts";
import {
  type FreeName,
  readVariable,
  type ScopeView,
  type Script,
  siteAt,
  unmarked,
  viewFunction,
} from "../engine/index.ts";
import { builtinExports, isReader, liveImport, namespaceBehind, noteImport, readBy } from "../modules/index.ts";
import type { Cell, ShippingPolicy } from "../shipment/index.ts";
import type { Binding } from "../syntax/index.ts";
import { moduleCell } from "../variables/index.ts";
import { Borrowed, referenceOf } from "./references.ts";

const copies = new WeakMap<object, Map<string, object>>();

/** The module whose exports a variable holds as an object, according to its declaration; undefined when none. */
export function moduleObjectOf(binding: Binding | undefined): string | undefined {
  if (binding === undefined) return undefined;
  if (binding.imported !== undefined) return binding.imported.imported === "*" ? binding.imported.source : undefined;
  const { declaration, writes } = binding;
  if (writes.length > 0 || declaration?.type !== "VariableDeclarator" || declaration.id.type !== "Identifier") {
    return undefined;
  }
  const { init } = declaration;
  // Babel and sucrase have one variable for each module, and others for its namespace.
  const source = init?.type === "CallExpression" && isInteropCall(init) ? init.arguments[0] : init;
  if (source?.type === "Identifier") return moduleObjectOf(aliased(binding, source));
  return loadedSpecifier(init);
}

/** The variable of the same or of an outer scope that another one is set to, and that nothing else is. */
function aliased({ scope }: Binding, { name }: { readonly name: string }): Binding | undefined {
  const other = scope.lookup(name);
  return other?.declaration?.type === "VariableDeclarator" && other.declaration.init?.type !== "Identifier"
    ? other
    : undefined;
}

const LOADERS = /^(?:require|import|__(?:vi|vite_ssr)_(?:import|dynamic_import)__)$/;

/** The module that an expression loads; sees through what transpilers put around a `require` or an `import()`. */
export function loadedSpecifier(node: AnyNode | null | undefined): string | undefined {
  if (node?.type === "AwaitExpression") return loadedSpecifier(node.argument);
  if (node?.type === "ImportExpression") return literalOf(node.source);
  if (node?.type !== "CallExpression") return undefined;
  const [first] = node.arguments;
  if (node.callee.type === "MemberExpression" && isUnwrapper(first)) return loadedSpecifier(node.callee.object);
  if (node.callee.type === "Identifier" && LOADERS.test(node.callee.name)) return literalOf(first);
  return isInteropCall(node) ? loadedSpecifier(first) : undefined;
}

const INTEROP = /^(?:_?_?(?:interop_?[rR]equire\w*|export_?[sS]tar|toESM|importStar|importDefault))$/;

/** True for a call that transpilers put around a `require`. */
function isInteropCall({ callee }: CallExpression): boolean {
  return INTEROP.test(calleeName(callee));
}

function calleeName(node: AnyNode): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "SequenceExpression") return calleeName(node.expressions.at(-1) ?? node.expressions[0] ?? node);
  return node.type === "MemberExpression" && node.property.type === "Identifier" ? node.property.name : "";
}

/** The function that tsx puts into `import("./m.ts").then(...)`, to see through a module that is CommonJS. */
function isUnwrapper(node: AnyNode | undefined): boolean {
  if (node?.type !== "ArrowFunctionExpression" || node.body.type !== "BlockStatement") return false;
  const [param] = node.params;
  const [first, last] = node.body.body;
  const name = first?.type === "VariableDeclaration" ? literalOf(first.declarations[0]?.init ?? undefined) : undefined;
  if (name !== "default" || last?.type !== "ReturnStatement" || last.argument?.type !== "ConditionalExpression") {
    return false;
  }
  const { alternate } = last.argument;
  return param?.type === "Identifier" && alternate.type === "Identifier" && alternate.name === param.name;
}

function literalOf(node: AnyNode | undefined): string | undefined {
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
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
 * An object with the exports of a module that a piece of code uses, for a module that cannot travel by name.
 *
 * @param used - the members that the code reads; undefined for all
 */
export function copyOfModule(
  module: object,
  used: readonly string[] | undefined,
  specifier: string,
  importer: Script,
  policy: ShippingPolicy,
): object {
  const members = used ?? Object.keys(module);
  const key = members.join();
  const known = copies.get(module) ?? new Map<string, object>();
  copies.set(module, known);
  const copy = known.get(key) ?? Object.create(null);
  known.set(key, copy);
  const builtin = builtinExports(specifier);
  for (const member of members) {
    if (!Reflect.has(module, member)) continue;
    const value = unmarked(Reflect.get(module, member));
    noteImport(value, specifier, member, importer.url);
    const get = liveReader(module, member, value, specifier, importer);
    if (get !== undefined) {
      Object.defineProperty(copy, member, { get, enumerable: true, configurable: true });
      continue;
    }
    const isShared = builtin !== undefined && isPrimitive(value) && Reflect.has(builtin, member);
    const inner = innerNamespace(value, { source: specifier, imported: member }, importer, policy);
    Reflect.set(copy, member, isShared ? Borrowed.exportOf(builtin, member) : (inner ?? value));
  }
  return copy;
}

/** The object that travels for a namespace that another module exports; undefined for other values. */
export function innerNamespace(
  value: unknown,
  { source, imported }: { readonly source: string; readonly imported: string },
  importer: Script,
  policy: ShippingPolicy,
): object | undefined {
  if (typeof value !== "object" || value === null || !types.isModuleNamespaceObject(value)) return undefined;
  const behind = namespaceBehind(importer, source, imported);
  if (behind === undefined) return undefined;
  noteImport(value, behind.specifier, "*", behind.script.url);
  if (referenceOf(value, policy) !== undefined) return Borrowed.of(value);
  return copyOfModule(value, undefined, behind.specifier, behind.script, policy);
}

/** The value of a variable in the scopes of a function. */
export function valueIn(scopes: readonly ScopeView[], name: string): unknown {
  const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name));
  return scope === undefined ? undefined : readVariable(scope, name);
}

const readers = new WeakMap<Cell, () => unknown>();

/** A getter for an export that its module assigns to, which reads the variable that the module's functions share. */
function liveReader(
  module: object,
  member: string,
  value: unknown,
  specifier: string,
  importer: Script,
): (() => unknown) | undefined {
  if (!types.isModuleNamespaceObject(module)) {
    const get = types.isProxy(module) ? undefined : Reflect.getOwnPropertyDescriptor(module, member)?.get;
    return isReader(get) ? readsLive(get) : undefined;
  }
  const live = liveImport(importer, specifier, member);
  if (live === undefined) return undefined;
  const cell = moduleCell(live, value);
  // A bound function of the language: it travels, and so does the cell that it is bound to.
  const reader = readers.get(cell) ?? Reflect.get.bind(undefined, cell, "v");
  readers.set(cell, reader);
  return reader;
}

const readingLive = new WeakMap<object, { readonly get: (() => unknown) | undefined }>();

/**
 * For the getter of an export that some code of its module assigns to: the getter that reads the variable. Those before it
 * read it from objects with all exports, which would travel, too. Undefined for other exports.
 */
function readsLive(get: () => unknown): (() => unknown) | undefined {
  const known = readingLive.get(get);
  if (known !== undefined) return known.get;
  // Modules may export what they import from each other.
  readingLive.set(get, { get: undefined });
  const result = findLive(get);
  readingLive.set(get, { get: result });
  return result;
}

function findLive(get: () => unknown): (() => unknown) | undefined {
  const { name = "", member, key } = readBy(get) ?? {};
  const { location, scopes } = viewFunction(get);
  const site = location === undefined ? undefined : siteAt(location, false);
  const binding = site?.free.get(name)?.binding;
  if (site === undefined || binding === undefined) return undefined;
  if (isReassigned(binding, site.file)) return get;
  const module = valueIn(scopes, name);
  const read = member ?? (key === undefined ? undefined : valueIn(scopes, key));
  if (typeof read !== "string" || !isModuleObject(module) || types.isProxy(module)) return undefined;
  if (types.isModuleNamespaceObject(module)) {
    const specifier = moduleObjectOf(binding);
    return specifier !== undefined && liveImport(site.file.script, specifier, read) !== undefined ? get : undefined;
  }
  const next = Reflect.getOwnPropertyDescriptor(module, read)?.get;
  return isReader(next) ? readsLive(next) : undefined;
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== "object" || value === null) && typeof value !== "function";
}

/** The members that a piece of code reads of a variable; undefined when it does anything else with it. */
export function usedMembers({ references }: FreeName): string[] | undefined {
  const members = new Set<string>();
  for (const { position } of references) {
    if (position.type !== "member") return undefined;
    members.add(position.property);
  }
  return [...members].sort();
}
