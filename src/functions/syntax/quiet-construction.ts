import type { AnyNode, CallExpression, Expression, FunctionExpression, NewExpression, Pattern, Super } from "acorn";
import { boundNames, type ClassNode, isFunctionNode } from "./syntax-tree.ts";

/** What the code of a constructor may find around it. */
export interface Surroundings {
  /** True for a global of the language that nothing hides. */
  isIntrinsic(name: string): boolean;
  /**
   * The value of a variable around the class, and of plain properties from there on; undefined when reading it could run
   * code.
   */
  peek(path: readonly string[]): { readonly value: unknown } | undefined;
}

/** A class whose constructor only sets fields. */
export interface QuietConstruction {
  /** The public properties of `this` that it uses. They must not be accessors. */
  readonly properties: readonly string[];
  /** True when the parent class gets nothing but what this one is given. */
  readonly passesOnly: boolean;
}

/** Constructors that run no code of the program when they get data. */
const BUILT_IN = new Set(
  (
    "Map Set WeakMap WeakSet Array Object Date ArrayBuffer Float32Array Float64Array Int8Array Int16Array Int32Array " +
    "Uint8Array Uint8ClampedArray Uint16Array Uint32Array BigInt64Array BigUint64Array Error TypeError RangeError"
  ).split(" "),
);
const FUNCTIONS = new Set("String Number Boolean Symbol BigInt".split(" "));
const METHODS: Readonly<Record<string, RegExp>> = {
  Math: /^/,
  Number: /^/,
  Date: /^now$/,
  Array: /^isArray$/,
  Object: /^(?:create|freeze|is)$/,
};

/**
 * Tells whether constructing a class does nothing but make an object and set its fields, for arguments that are inert:
 * no code of the program runs besides the constructor and the initializers of fields, and these change nothing else.
 * Undefined when that is not certain. The superclass is not looked at.
 *
 * @param isGiven - the arguments are inert; otherwise they are data
 */
export function quietConstruction(
  node: ClassNode,
  around: Surroundings,
  isGiven: boolean,
): QuietConstruction | undefined {
  const check = new QuietCheck(node, around, isGiven);
  return check.isQuiet() ? { properties: [...check.properties], passesOnly: check.passesOnly } : undefined;
}

class QuietCheck {
  readonly properties = new Set<string>();
  passesOnly = true;
  readonly #node: ClassNode;
  readonly #around: Surroundings;
  readonly #isGiven: boolean;
  /** Private fields, not methods and accessors. */
  readonly #fields = new Set<string>();
  /** Variables that hold nothing but what the constructor was given. */
  readonly #given = new Set<string>();
  /** Other variables of the constructor. */
  readonly #locals = new Set<string>();

  constructor(node: ClassNode, around: Surroundings, isGiven: boolean) {
    this.#node = node;
    this.#around = around;
    this.#isGiven = isGiven;
  }

  isQuiet(): boolean {
    const { body } = this.#node.body;
    for (const member of body) {
      if (member.type !== "PropertyDefinition" || member.static) continue;
      if (member.key.type === "PrivateIdentifier") this.#fields.add(member.key.name);
    }
    for (const member of body) {
      if (member.type !== "PropertyDefinition" || member.static || member.value == null) continue;
      if (!this.#value(member.value)) return false;
    }
    const own = body.find((member) => member.type === "MethodDefinition" && member.kind === "constructor");
    return own?.type !== "MethodDefinition" || this.#ownConstructor(own.value);
  }

  #ownConstructor({ params, body }: FunctionExpression): boolean {
    for (const param of params) {
      if (!this.#pattern(param)) return false;
      for (const { name } of boundNames(param)) this.#given.add(name);
    }
    return body.body.every((statement) => this.#statement(statement));
  }

  /** A pattern that takes what is given apart: without computed keys, and with quiet defaults. */
  #pattern(pattern: Pattern): boolean {
    switch (pattern.type) {
      case "Identifier":
        return true;
      case "RestElement":
        return this.#pattern(pattern.argument);
      case "AssignmentPattern":
        return this.#pattern(pattern.left) && this.#isData(pattern.right);
      case "ArrayPattern":
        return pattern.elements.every((element) => element === null || this.#pattern(element));
      case "ObjectPattern":
        return pattern.properties.every((property) =>
          property.type === "RestElement"
            ? this.#pattern(property)
            : !property.computed && this.#pattern(property.value),
        );
      default:
        return false;
    }
  }

  #statement(node: AnyNode): boolean {
    switch (node.type) {
      case "EmptyStatement":
        return true;
      case "ExpressionStatement":
        return this.#value(node.expression);
      case "BlockStatement":
        return node.body.every((statement) => this.#statement(statement));
      case "IfStatement":
        return (
          this.#value(node.test) &&
          this.#statement(node.consequent) &&
          (node.alternate == null || this.#statement(node.alternate))
        );
      case "ReturnStatement":
        return node.argument == null;
      case "ThrowStatement":
        return node.argument.type === "NewExpression" && this.#value(node.argument);
      case "VariableDeclaration":
        return node.declarations.every(({ id, init }) => this.#declarator(id, init));
      case "ForOfStatement":
        // What is given is empty.
        return this.#isGiven && node.await !== true && this.#isInert(node.right);
      default:
        return false;
    }
  }

  #declarator(id: Pattern, init: Expression | null | undefined): boolean {
    if (init == null) return false;
    const isInert = this.#isInert(init);
    if (!isInert && (id.type !== "Identifier" || !this.#value(init))) return false;
    for (const { name } of boundNames(id)) (isInert ? this.#given : this.#locals).add(name);
    return this.#pattern(id);
  }

  /** An expression that is made of nothing but what was given. */
  #isInert(node: AnyNode): boolean {
    switch (node.type) {
      case "Identifier":
        return this.#given.has(node.name);
      case "ChainExpression":
        return this.#isInert(node.expression);
      case "MemberExpression":
        return !node.computed && this.#isInert(node.object);
      case "CallExpression":
        return this.#isInert(node.callee) && node.arguments.every((argument) => this.#isData(argument));
      case "LogicalExpression":
        return this.#isInert(node.left) && this.#isInert(node.right);
      case "SpreadElement":
        return this.#isInert(node.argument);
      default:
        return false;
    }
  }

  /** An expression whose value can be converted, called on and iterated over without running code of the program. */
  #isData(node: AnyNode): boolean {
    if (this.#isInert(node)) return true;
    switch (node.type) {
      case "Literal":
        return true;
      case "Identifier":
      case "MemberExpression":
        return this.#isConstant(node);
      case "TemplateLiteral":
        return node.expressions.every((expression) => this.#isData(expression));
      case "ArrayExpression":
        return node.elements.every((element) => element !== null && this.#isData(element));
      case "ObjectExpression":
        return node.properties.length === 0;
      case "UnaryExpression":
        return node.operator !== "delete" && this.#isData(node.argument);
      case "BinaryExpression":
        return !node.operator.startsWith("in") && this.#isData(node.left) && this.#isData(node.right);
      case "LogicalExpression":
        return this.#isData(node.left) && this.#isData(node.right);
      case "ConditionalExpression":
        return this.#isData(node.test) && this.#isData(node.consequent) && this.#isData(node.alternate);
      case "CallExpression":
        return this.#isQuietCall(node);
      default:
        return false;
    }
  }

  /** An expression whose evaluation runs no code of the program and changes nothing but `this`. */
  #value(node: AnyNode | Super): boolean {
    switch (node.type) {
      case "Identifier":
        return this.#given.has(node.name) || this.#locals.has(node.name) || this.#peek(node) !== undefined;
      case "ArrayExpression":
        return node.elements.every((element) => element !== null && this.#value(element));
      case "ObjectExpression":
        return node.properties.every(
          (property) => property.type === "Property" && !property.computed && this.#value(property.value),
        );
      case "FunctionExpression":
      case "ArrowFunctionExpression":
      case "MetaProperty":
        return true;
      case "UnaryExpression":
        return (node.operator === "!" || node.operator === "typeof" ? this.#value : this.#isData).call(
          this,
          node.argument,
        );
      case "BinaryExpression":
        if (/^[=!]==$/.test(node.operator)) return this.#value(node.left) && this.#value(node.right);
        return this.#isData(node);
      case "LogicalExpression":
        return this.#value(node.left) && this.#value(node.right);
      case "ConditionalExpression":
        return this.#value(node.test) && this.#value(node.consequent) && this.#value(node.alternate);
      case "AssignmentExpression":
        return node.operator === "=" && this.#isField(node.left) && this.#value(node.right);
      case "MemberExpression":
        return this.#isField(node) || this.#isInert(node) || this.#peek(node) !== undefined;
      case "NewExpression":
        return this.#isBuiltIn(node) && node.arguments.every((argument) => this.#isData(argument));
      case "CallExpression":
        return this.#superCall(node) || this.#isInert(node) || this.#isQuietCall(node) || isNaming(node);
      default:
        return this.#isData(node);
    }
  }

  #superCall({ callee, arguments: args }: CallExpression): boolean {
    if (callee.type !== "Super") return false;
    this.passesOnly &&= args.every((argument) => this.#isInert(argument));
    return args.every((argument) => this.#isInert(argument) || argument.type === "Literal");
  }

  /** A field of `this`: a private one that the class declares, or a public one. */
  #isField(node: AnyNode): boolean {
    if (node.type !== "MemberExpression" || node.object.type !== "ThisExpression" || node.computed) return false;
    if (node.property.type === "PrivateIdentifier") return this.#fields.has(node.property.name);
    if (node.property.type !== "Identifier") return false;
    this.properties.add(node.property.name);
    return true;
  }

  #isBuiltIn({ callee }: NewExpression): boolean {
    return callee.type === "Identifier" && BUILT_IN.has(callee.name) && this.#isIntrinsic(callee.name);
  }

  #isQuietCall({ callee, arguments: args }: CallExpression): boolean {
    if (!args.every((argument) => this.#isData(argument))) return false;
    if (callee.type === "Identifier") return FUNCTIONS.has(callee.name) && this.#isIntrinsic(callee.name);
    if (callee.type !== "MemberExpression" || callee.computed || callee.object.type !== "Identifier") return false;
    const { name } = callee.object;
    if (callee.property.type !== "Identifier" || METHODS[name]?.test(callee.property.name) !== true) return false;
    return this.#isIntrinsic(name);
  }

  #isIntrinsic(name: string): boolean {
    return !this.#given.has(name) && !this.#locals.has(name) && this.#around.isIntrinsic(name);
  }

  #isConstant(node: AnyNode): boolean {
    const peeked = this.#peek(node);
    return peeked !== undefined && typeof peeked.value !== "object" && typeof peeked.value !== "function";
  }

  #peek(node: AnyNode): { readonly value: unknown } | undefined {
    const path = pathTo(node);
    const [root] = path ?? [];
    if (path === undefined || root === undefined || this.#given.has(root) || this.#locals.has(root)) return undefined;
    return root === "undefined" ? { value: undefined } : this.#around.peek(path);
  }
}

function pathTo(node: AnyNode): string[] | undefined {
  if (node.type === "Identifier") return [node.name];
  if (node.type !== "MemberExpression" || node.computed || node.property.type !== "Identifier") return undefined;
  const path = pathTo(node.object);
  return path === undefined ? undefined : [...path, node.property.name];
}

/** esbuild keeps the name of a function with `__name(() => ..., "name")`. */
function isNaming({ callee, arguments: [fn] }: CallExpression): boolean {
  return callee.type === "Identifier" && callee.name === "__name" && fn !== undefined && isFunctionNode(fn);
}
