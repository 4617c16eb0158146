import { types } from "node:util";
import type { AnyNode, BlockStatement, CallExpression, Expression } from "acorn";
import { readVariable, viewFunction } from "../engine/index.ts";
import { isFunction, sourceTextOf } from "../shipment/index.ts";
import { childrenOf, isFunctionNode, parseFunctionText } from "../syntax/index.ts";

/** The prototypes of generator functions and of async functions, also of bound ones. */
const [generators, asyncGenerators, asyncFunctions]: readonly unknown[] = [
  function* () {},
  async function* () {},
  async () => {},
].map(Object.getPrototypeOf);

/** What compilers write in place of a generator has one of these in it. Most functions have neither. */
const LOWERED = /\(\s*this\s*,|\)\s*\(\s*\)|\.(?:apply|call)\(\s*this\b|^function \(\) \{ \[native code\] \}$/;
/** How many functions a compiler puts around each other. */
const MOST_WRAPPERS = 4;

/**
 * True for a function that returns a generator when it is called: a generator function, bound or not, or what a compiler
 * made of one for an older version of JavaScript. Compilers name their helpers differently, and minifiers rename them, so
 * a helper is known by its code.
 */
export function givesGenerator(fn: object): boolean {
  if (types.isGeneratorFunction(fn)) return true;
  const parent = Object.getPrototypeOf(fn);
  if (parent === generators || parent === asyncGenerators) return true;
  if (types.isAsyncFunction(fn) || parent === asyncFunctions) return false;
  // The runtime for generators that Babel uses gives such functions another parent, and marks what they make.
  if (parent !== Function.prototype && isGeneratorClass(fn, Symbol.iterator)) return true;
  return isLowered(fn, MOST_WRAPPERS);
}

function isLowered(fn: object, depth: number): boolean {
  const text = sourceTextOf(fn);
  if (depth === 0 || !LOWERED.test(text)) return false;
  try {
    const { bound } = viewFunction(fn);
    if (bound !== undefined) return givesGenerator(bound.target);
    const body = bodyOf(text);
    return body !== undefined && isLoweredBody(fn, body, depth);
  } catch {
    // The engine does not show its variables: it can only be taken for what it says it is.
    return false;
  }
}

function bodyOf(text: string): BlockStatement | undefined {
  const program = parseFunctionText(text);
  const node = program === undefined ? undefined : firstFunction(program);
  return node !== undefined && isFunctionNode(node) && node.body.type === "BlockStatement" ? node.body : undefined;
}

function firstFunction(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return node;
  for (const child of childrenOf(node)) {
    const found = firstFunction(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isLoweredBody(fn: object, { body }: BlockStatement, depth: number): boolean {
  const last = body.at(-1);
  if (last?.type !== "ReturnStatement" || last.argument == null) return false;
  const { argument } = last;
  if (argument.type === "NewExpression") return isGeneratorClass(valueOf(fn, argument.callee));
  if (argument.type !== "CallExpression") return false;
  const called = calledBy(argument);
  if (called === undefined) {
    // `return helper(this, arguments, function* () { ... })`: TypeScript and esbuild.
    const { callee, arguments: args } = argument;
    return args[0]?.type === "ThisExpression" && isDirectHelper(valueOf(fn, callee), args.length);
  }
  // `return helper(function* () { ... }).apply(this, arguments)`: swc, and Babel for methods.
  if (called.type === "CallExpression") return isWrappingHelper(valueOf(fn, called.callee));
  const value = valueOf(fn, called);
  if (!isFunction(value)) return false;
  if (value !== fn) return isLowered(value, depth - 1);
  // `function _f() { _f = helper(function* () { ... }); return _f.apply(this, arguments) }`: Babel.
  const before = body.at(-2);
  const assigned = before?.type === "ExpressionStatement" ? before.expression : undefined;
  if (assigned?.type !== "AssignmentExpression" || assigned.right.type !== "CallExpression") return false;
  return isWrappingHelper(valueOf(fn, assigned.right.callee));
}

/** `f` in `f(...)()`, in `f.apply(this, arguments)` and in `f(...).call(this)`. */
function calledBy({ callee, arguments: args }: CallExpression): CallExpression["callee"] | undefined {
  if (args.length === 0) return callee.type === "CallExpression" ? callee : undefined;
  if (callee.type !== "MemberExpression" || callee.computed || callee.property.type !== "Identifier") return undefined;
  if (args[0]?.type !== "ThisExpression") return undefined;
  return callee.property.name === "apply" || callee.property.name === "call" ? callee.object : undefined;
}

/** The value of a variable around a function, or of a member of one, as `tslib.__asyncGenerator`. */
function valueOf(fn: object, node: Expression | CallExpression["callee"]): unknown {
  switch (node.type) {
    case "SequenceExpression": {
      const last = node.expressions.at(-1);
      return last === undefined ? undefined : valueOf(fn, last);
    }
    case "MemberExpression": {
      const holder = valueOf(fn, node.object);
      const isHeld = (typeof holder === "object" && holder !== null) || typeof holder === "function";
      return isHeld && node.property.type === "Identifier" ? Reflect.get(holder, node.property.name) : undefined;
    }
    case "Identifier": {
      const scope = viewFunction(fn).scopes.find(({ variables }) => Object.hasOwn(variables, node.name));
      return scope === undefined ? undefined : readVariable(scope, node.name);
    }
    default:
      return undefined;
  }
}

/** The words in the helpers of TypeScript and esbuild, which a minifier keeps: for async generators, and for others. */
const ASYNC_WORDS = ["asyncIterator", '"next"', '"throw"', '"return"'];
const SYNC_WORDS = ["Symbol.iterator", "label", "trys", "ops", "sent"];

function isDirectHelper(helper: unknown, count: number): boolean {
  if (!isFunction(helper)) return false;
  const text = sourceTextOf(helper).replaceAll(/['`](next|throw|return)['`]/g, '"$1"');
  return (count === 2 ? SYNC_WORDS : ASYNC_WORDS).every((word) => text.includes(word));
}

/** `function helper(f) { return function () { return new AsyncGenerator(f.apply(this, arguments)) } }` */
function isWrappingHelper(helper: unknown): boolean {
  const last = isFunction(helper) ? bodyOf(sourceTextOf(helper))?.body.at(-1) : undefined;
  if (!isFunction(helper) || last?.type !== "ReturnStatement" || last.argument == null) return false;
  const inner = isFunctionNode(last.argument) ? last.argument.body : undefined;
  const made = inner?.type === "BlockStatement" ? inner.body.at(-1) : undefined;
  if (made?.type !== "ReturnStatement" || made.argument?.type !== "NewExpression") return false;
  return isGeneratorClass(valueOf(helper, made.argument.callee));
}

function isGeneratorClass(value: unknown, iterator: symbol = Symbol.asyncIterator): boolean {
  const prototype: unknown = isFunction(value) ? Reflect.get(value, "prototype") : undefined;
  if (typeof prototype !== "object" || prototype === null) return false;
  return [iterator, "next", "throw", "return"].every((key) => isFunction(Reflect.get(prototype, key)));
}
