import { types } from "node:util";
import type { AnyNode, CallExpression, MemberExpression, NewExpression, Pattern } from "acorn";
import { isObject } from "../../checks/index.ts";
import type { CodeSite } from "../engine/index.ts";
import { nodesAround } from "../syntax/index.ts";

/** Examining more objects than this at each capture would take longer than copying them. */
const MOST_OBJECTS = 1000;

/**
 * True for plain data that the code at a site only reads: the code does not change the data, and passes no part of it
 * to other code that could. Uses that the source does not explain count as changes.
 *
 * @param name - the captured variable that holds it
 */
export function onlyReads(site: CodeSite, name: string, value: unknown): boolean {
  if (!isObject(value) || !isPlainTree(value)) return false;
  const references = site.free.get(name)?.references ?? [];
  return references.every(({ mode, node }) => {
    const ancestors = mode === "read" ? nodesAround(site.unit.node, node).reverse() : [];
    return ancestors.length > 0 && isReadOnly(site, node, ancestors, value);
  });
}

/** True for objects and arrays that hold only data, at every level. */
function isPlainTree(root: object): boolean {
  const seen = new Set<object>([root]);
  for (const object of seen) {
    if (seen.size > MOST_OBJECTS || types.isProxy(object)) return false;
    const prototype = Reflect.getPrototypeOf(object);
    const usual = Array.isArray(object) ? Array.prototype : Object.prototype;
    if (prototype !== usual && (prototype !== null || Array.isArray(object))) return false;
    for (const key of Reflect.ownKeys(object)) {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      if (property === undefined || !("value" in property) || typeof property.value === "function") return false;
      if (isObject(property.value)) seen.add(property.value);
    }
  }
  return true;
}

/** Follows the value of a variable from one use, for as long as it may be an object. */
function isReadOnly(site: CodeSite, reference: AnyNode, ancestors: readonly AnyNode[], value: object): boolean {
  let node = reference;
  let objects: readonly object[] = [value];
  for (const [index, parent] of ancestors.entries()) {
    if (parent.type === "MemberExpression" && parent.object === node) {
      const around = ancestors.slice(index + 1);
      const key = keyOf(parent);
      if (isTarget(parent, around)) return false;
      const isInherited = key === undefined || objects.some((object) => !Object.hasOwn(object, key) && key in object);
      if (isInherited && isCalled(parent, around[0])) {
        return key !== undefined && isHarmlessCall(around[0], key, objects);
      }
      objects = membersOf(objects, key);
      if (objects.length === 0) return true;
    } else if (!mayResultIn(parent, node)) return isHarmless(site, node, parent, objects);
    node = parent;
  }
  return false;
}

/** The name of the property that is read, if the source has it. */
function keyOf({ property, computed }: MemberExpression): string | undefined {
  if (!computed) return property.type === "Identifier" ? property.name : undefined;
  return property.type === "Literal" && typeof property.value !== "object" ? String(property.value) : undefined;
}

/** The objects among the properties of that name, of any name if it is not known. */
function membersOf(objects: readonly object[], key: string | undefined): object[] {
  const members = objects.flatMap((object): unknown[] => {
    if (key !== undefined) return Object.hasOwn(object, key) ? [Reflect.get(object, key)] : [];
    return Reflect.ownKeys(object).map((each) => Reflect.get(object, each));
  });
  return members.filter((member) => isObject(member));
}

/** True for an expression that may have the value of one of its operands. */
function mayResultIn(parent: AnyNode, node: AnyNode): boolean {
  if (parent.type === "ChainExpression" || parent.type === "LogicalExpression") return true;
  return parent.type === "ConditionalExpression" && parent.test !== node;
}

function isCalled(member: AnyNode, parent: AnyNode | undefined): parent is CallExpression | NewExpression {
  if (parent?.type === "TaggedTemplateExpression") return parent.tag === member;
  return (parent?.type === "CallExpression" || parent?.type === "NewExpression") && parent.callee === member;
}

/** True for a property that is assigned to or deleted. */
function isTarget(member: AnyNode, around: readonly AnyNode[]): boolean {
  let node = member;
  for (const parent of around) {
    switch (parent.type) {
      case "ChainExpression":
        break;
      case "UnaryExpression":
        return parent.operator === "delete";
      case "UpdateExpression":
      case "RestElement":
      case "ArrayPattern":
        return true;
      case "AssignmentExpression":
      case "AssignmentPattern":
      case "ForInStatement":
      case "ForOfStatement":
        return parent.left === node;
      case "Property":
        return around[around.indexOf(parent) + 1]?.type === "ObjectPattern" && parent.value === node;
      default:
        return false;
    }
    node = parent;
  }
  return false;
}

const READING_METHODS: ReadonlySet<string> = new Set(
  (
    "at concat entries hasOwnProperty includes indexOf join keys lastIndexOf propertyIsEnumerable slice toReversed toSorted " +
    "toSpliced toString values with"
  ).split(" "),
);
/** Methods that call a function with values of the array, and the number of arguments. The last one is the array itself. */
const CALLING_METHODS: ReadonlyMap<string, number> = new Map([
  ..."every filter find findIndex findLast findLastIndex flatMap forEach map some"
    .split(" ")
    .map((name) => [name, 3] as const),
  ["reduce", 4],
  ["reduceRight", 4],
]);

/** True for a method of the language that changes nothing and returns only primitive values. */
function isHarmlessCall(call: AnyNode | undefined, method: string, objects: readonly object[]): boolean {
  if (call?.type !== "CallExpression" || membersOf(objects, undefined).length > 0) return false;
  if (READING_METHODS.has(method)) return true;
  const arity = CALLING_METHODS.get(method);
  const [callback] = call.arguments;
  if (arity === undefined || callback?.type !== "ArrowFunctionExpression") return false;
  return callback.params.length < arity && callback.params.every(({ type }) => type !== "RestElement");
}

const EQUALITY: ReadonlySet<string> = new Set(["==", "!=", "===", "!=="]);

/** True for a use that only examines an object. */
function isHarmless(site: CodeSite, node: AnyNode, parent: AnyNode, objects: readonly object[]): boolean {
  const hasOnlyPrimitives = membersOf(objects, undefined).length === 0;
  switch (parent.type) {
    case "UnaryExpression":
      return parent.operator === "typeof" || parent.operator === "!";
    case "BinaryExpression":
      return EQUALITY.has(parent.operator) || (parent.operator === "in" && parent.right === node);
    case "ConditionalExpression":
    case "IfStatement":
      return parent.test === node;
    case "SpreadElement":
      return hasOnlyPrimitives;
    case "ForInStatement":
      return parent.right === node;
    case "ForOfStatement":
      return parent.right === node && hasOnlyPrimitives;
    case "VariableDeclarator":
      return parent.init === node && hasOnlyPrimitiveParts(parent.id, objects);
    case "CallExpression":
    case "NewExpression":
      return isHarmlessFunction(site, parent, hasOnlyPrimitives);
    default:
      return false;
  }
}

/** True when the variables of a pattern get only primitive values. */
function hasOnlyPrimitiveParts(pattern: Pattern, objects: readonly object[]): boolean {
  if (objects.length === 0) return true;
  if (pattern.type === "ArrayPattern") return membersOf(objects, undefined).length === 0;
  if (pattern.type === "AssignmentPattern") return hasOnlyPrimitiveParts(pattern.left, objects);
  if (pattern.type !== "ObjectPattern") return false;
  return pattern.properties.every((property) => {
    if (property.type === "RestElement") return membersOf(objects, undefined).length === 0;
    const { key, computed } = property;
    const name = !computed && key.type === "Identifier" ? key.name : undefined;
    return hasOnlyPrimitiveParts(property.value, membersOf(objects, name));
  });
}

/** Functions of the language that only examine their argument. */
const LOOKING: ReadonlySet<string> = new Set(
  (
    "Array.isArray Boolean JSON.stringify Number Object.getOwnPropertyNames Object.hasOwn Object.isExtensible Object.isFrozen " +
    "Object.isSealed Object.keys String structuredClone"
  ).split(" "),
);
/** Functions of the language that return parts of their argument. */
const HANDING_OUT: ReadonlySet<string> = new Set(
  "Array.from Map Object.entries Object.fromEntries Object.values Set".split(" "),
);

function isHarmlessFunction(site: CodeSite, call: CallExpression | NewExpression, hasOnlyPrimitives: boolean): boolean {
  const { callee } = call;
  const [root, member] = callee.type === "MemberExpression" ? [callee.object, keyOf(callee)] : [callee, ""];
  if (root.type !== "Identifier" || member === undefined || call.arguments.length > 2) return false;
  const free = site.free.get(root.name);
  if (free === undefined || free.binding !== undefined || free.references.every(({ node }) => node !== root))
    return false;
  const name = member === "" ? root.name : `${root.name}.${member}`;
  // A second argument may be a function that gets the object.
  if (call.arguments.length === 2) return name === "Object.hasOwn";
  return LOOKING.has(name) || (hasOnlyPrimitives && HANDING_OUT.has(name));
}
