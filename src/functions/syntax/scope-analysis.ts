import type {
  AnyNode,
  Expression,
  Identifier,
  ObjectExpression,
  Pattern,
  Program,
  Property,
  StaticBlock,
  VariableDeclaration,
} from "acorn";
import { type CodeUnit, type ContextualSyntax, type Reference, type ReferencePosition, Scope } from "./scope.ts";
import {
  boundNames,
  type ClassNode,
  childrenOf,
  type FunctionNode,
  isAnonymousDefinition,
  isClassNode,
  isFunctionNode,
  type MemberNode,
} from "./syntax-tree.ts";

/** Every name, reference and function of one source, references and contextual syntax in source order. */
export interface ScopeAnalysis {
  readonly top: Scope;
  readonly references: readonly Reference[];
  readonly contextual: readonly ContextualSyntax[];
  readonly units: readonly CodeUnit[];
}

const PLAIN: ReferencePosition = { type: "plain" };
const SHORTHAND: ReferencePosition = { type: "shorthand" };
const CALLEE: ReferencePosition = { type: "callee" };

/** Resolves every name of a parsed source to its declaration. */
export function analyzeScopes(program: Program): ScopeAnalysis {
  const walker = new ScopeWalker(program);
  walker.run();
  return walker;
}

class ScopeWalker implements ScopeAnalysis {
  readonly top: Scope;
  readonly references: Reference[] = [];
  readonly contextual: ContextualSyntax[] = [];
  readonly units: CodeUnit[] = [];
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
    this.top = new Scope("top", program, undefined);
  }

  run(): void {
    this.#hoistVariables(this.#program, this.top);
    this.#hoistDeclarations(this.#program.body, this.top);
    for (const statement of this.#program.body) this.#visit(statement, this.top);
    for (const reference of this.references) {
      reference.binding = reference.scope.lookup(reference.node.name);
      if (reference.mode !== "read") reference.binding?.writes.push(reference);
    }
    this.references.sort((a, b) => a.node.start - b.node.start);
    this.contextual.sort((a, b) => a.node.start - b.node.start);
  }

  #hoistDeclarations(statements: readonly AnyNode[], scope: Scope): void {
    for (const statement of statements) {
      const declaration =
        (statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration") &&
        statement.declaration != null
          ? statement.declaration
          : statement;
      if (declaration.type === "VariableDeclaration") {
        if (declaration.kind !== "var") this.#declareLexical(declaration, scope);
      } else if (declaration.type === "FunctionDeclaration") {
        if (declaration.id == null) continue;
        scope.declare(declaration.id.name, "function", declaration);
      } else if (declaration.type === "ClassDeclaration") {
        if (declaration.id != null) scope.declare(declaration.id.name, "class", declaration);
      } else if (declaration.type === "ImportDeclaration") {
        const source = String(declaration.source.value);
        for (const specifier of declaration.specifiers) {
          const imported =
            specifier.type === "ImportNamespaceSpecifier"
              ? "*"
              : specifier.type === "ImportDefaultSpecifier"
                ? "default"
                : nameOf(specifier.imported);
          scope.declare(specifier.local.name, "import", specifier, { source, imported });
        }
      }
    }
  }

  #declareLexical(declaration: VariableDeclaration, scope: Scope): void {
    const kind = declaration.kind === "let" ? "let" : "const";
    for (const declarator of declaration.declarations) {
      for (const id of boundNames(declarator.id)) scope.declare(id.name, kind, declarator);
    }
  }

  #hoistVariables(node: AnyNode, scope: Scope): void {
    for (const child of childrenOf(node)) {
      if (isClassNode(child)) continue;
      if (isFunctionNode(child)) {
        // In sloppy code a function declared in a block is also a `var` of the function around it.
        if (child.type === "FunctionDeclaration" && child.id != null && this.#program.sourceType === "script") {
          if (node.type === "BlockStatement" || node.type === "SwitchCase") scope.declare(child.id.name, "var", child);
        }
        continue;
      }
      if (child.type === "VariableDeclaration" && child.kind === "var") {
        for (const declarator of child.declarations) {
          for (const id of boundNames(declarator.id)) scope.declare(id.name, "var", declarator);
        }
      }
      this.#hoistVariables(child, scope);
    }
  }

  #refer(node: Identifier, scope: Scope, mode: Reference["mode"], position: ReferencePosition = PLAIN): void {
    this.references.push({ node, scope, mode, position, binding: undefined });
  }

  #note(type: ContextualSyntax["type"], node: AnyNode, scope: Scope, name?: string): void {
    this.contextual.push({ type, node, scope, name });
  }

  /** A pattern that is assigned to. `value` is the expression that gets its name from a single identifier. */
  #assign(target: AnyNode, scope: Scope, value?: AnyNode | null): void {
    switch (target.type) {
      case "Identifier":
        this.#refer(target, scope, "write", namedAssignment(value));
        break;
      case "ObjectPattern":
        for (const property of target.properties) {
          if (property.type === "RestElement") {
            this.#assign(property.argument, scope);
            continue;
          }
          if (property.computed) this.#visit(property.key, scope);
          if (!property.shorthand) this.#assign(property.value, scope);
          else if (property.value.type === "AssignmentPattern") {
            if (property.value.left.type === "Identifier") {
              this.#refer(property.value.left, scope, "write", SHORTHAND);
            }
            this.#visit(property.value.right, scope);
          } else if (property.value.type === "Identifier") {
            this.#refer(property.value, scope, "write", SHORTHAND);
          }
        }
        break;
      case "ArrayPattern":
        for (const element of target.elements) if (element !== null) this.#assign(element, scope);
        break;
      case "RestElement":
        this.#assign(target.argument, scope);
        break;
      case "AssignmentPattern":
        this.#assign(target.left, scope, target.right);
        this.#visit(target.right, scope);
        break;
      default:
        this.#visit(target, scope);
    }
  }

  /** The defaults and computed keys of a declaring pattern. */
  #visitPattern(pattern: Pattern | null | undefined, scope: Scope): void {
    switch (pattern?.type) {
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type === "RestElement") this.#visitPattern(property.argument, scope);
          else {
            if (property.computed) this.#visit(property.key, scope);
            this.#visitPattern(property.value, scope);
          }
        }
        break;
      case "ArrayPattern":
        for (const element of pattern.elements) this.#visitPattern(element, scope);
        break;
      case "AssignmentPattern":
        this.#visitPattern(pattern.left, scope);
        this.#visit(pattern.right, scope);
        break;
      case "RestElement":
        this.#visitPattern(pattern.argument, scope);
        break;
      default:
    }
  }

  #visitFunction(node: FunctionNode, scope: Scope, member?: MemberNode, holder?: ClassNode | ObjectExpression): void {
    const literal = holder?.type === "ObjectExpression" ? holder : undefined;
    const owner = holder?.type === "ObjectExpression" ? undefined : holder;
    this.units.push({ node, scope, member, owner, literal });
    let outer = scope;
    if (node.type === "FunctionExpression" && node.id != null) {
      outer = new Scope("block", node, scope);
      outer.declare(node.id.name, "function-name", node);
    }
    const inner = new Scope(node.type === "ArrowFunctionExpression" ? "arrow" : "function", node, outer);
    for (const parameter of node.params) {
      for (const id of boundNames(parameter)) inner.declare(id.name, "parameter", node);
    }
    for (const parameter of node.params) this.#visitPattern(parameter, inner);
    if (node.body.type !== "BlockStatement") {
      this.#visit(node.body, inner);
      return;
    }
    // Defaults of parameters do not see declarations of the body.
    const isSimple = node.params.every(({ type }) => type === "Identifier");
    const body = isSimple ? inner : new Scope("block", node.body, inner);
    this.#hoistVariables(node.body, body);
    this.#hoistDeclarations(node.body.body, body);
    for (const statement of node.body.body) this.#visit(statement, body);
  }

  #visitClass(node: ClassNode, scope: Scope): void {
    this.units.push({ node, scope, member: undefined, owner: undefined, literal: undefined });
    const inner = new Scope("class", node, scope);
    if (node.id != null) inner.declare(node.id.name, "class-name", node);
    if (node.superClass != null) this.#visit(node.superClass, inner);
    for (const member of node.body.body) {
      if (member.type === "StaticBlock") {
        this.#visitStaticBlock(member, inner);
        continue;
      }
      if (member.computed && member.key.type !== "PrivateIdentifier") this.#visit(member.key, inner);
      if (member.type === "MethodDefinition") this.#visitFunction(member.value, inner, member, node);
      else if (member.value != null) {
        const field = new Scope("field", member, inner);
        if (isFunctionNode(member.value)) this.#visitFunction(member.value, field, member, node);
        else this.#visit(member.value, field);
      }
    }
  }

  #visitStaticBlock(block: StaticBlock, scope: Scope): void {
    const inner = new Scope("static", block, scope);
    this.#hoistVariables(block, inner);
    this.#hoistDeclarations(block.body, inner);
    for (const statement of block.body) this.#visit(statement, inner);
  }

  #visitProperty(node: Property, scope: Scope, literal: ObjectExpression): void {
    if (node.computed) this.#visit(node.key, scope);
    if (node.shorthand && node.value.type === "Identifier") this.#refer(node.value, scope, "read", SHORTHAND);
    else if (node.value.type === "FunctionExpression" && (node.method || node.kind !== "init")) {
      this.#visitFunction(node.value, scope, node, literal);
    } else this.#visit(node.value, scope);
  }

  #visitLoopHead(head: AnyNode, scope: Scope): void {
    if (head.type !== "VariableDeclaration") this.#assign(head, scope);
    else for (const declarator of head.declarations) this.#visitPattern(declarator.id, scope);
  }

  #visitCallee(callee: Expression, scope: Scope): void {
    if (callee.type === "Identifier") this.#refer(callee, scope, "read", CALLEE);
    else this.#visit(callee, scope);
  }

  #visitAll(nodes: Iterable<AnyNode | null | undefined>, scope: Scope): void {
    for (const node of nodes) if (node != null) this.#visit(node, scope);
  }

  #visit(node: AnyNode | null | undefined, scope: Scope): void {
    switch (node?.type) {
      case undefined:
      case "BreakStatement":
      case "ContinueStatement":
      case "ImportDeclaration":
      case "ExportAllDeclaration":
        return;
      case "Identifier":
        return this.#refer(node, scope, "read");
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return this.#visitFunction(node, scope);
      case "ClassDeclaration":
      case "ClassExpression":
        return this.#visitClass(node, scope);
      case "ThisExpression":
        return this.#note("this", node, scope);
      case "Super":
        return this.#note("super", node, scope);
      case "MetaProperty":
        return this.#note(node.meta.name === "import" ? "import.meta" : "new.target", node, scope);
      case "PrivateIdentifier":
        return this.#note("private", node, scope, node.name);
      case "ImportExpression":
        this.#note("import()", node, scope);
        return this.#visitAll(childrenOf(node), scope);
      case "MemberExpression":
        if (node.object.type === "Identifier" && !node.computed && node.property.type === "Identifier") {
          return this.#refer(node.object, scope, "read", { type: "member", property: node.property.name });
        }
        this.#visit(node.object, scope);
        if (node.computed || node.property.type === "PrivateIdentifier") this.#visit(node.property, scope);
        return undefined;
      case "ObjectExpression":
        for (const property of node.properties) {
          if (property.type === "Property") this.#visitProperty(property, scope, node);
          else this.#visit(property, scope);
        }
        return undefined;
      case "VariableDeclaration":
        for (const declarator of node.declarations) {
          this.#visitPattern(declarator.id, scope);
          this.#visit(declarator.init, scope);
        }
        return undefined;
      case "AssignmentExpression":
        if (node.operator === "=") this.#assign(node.left, scope, node.right);
        else if (node.left.type === "Identifier") this.#refer(node.left, scope, "update", namedAssignment(node.right));
        else this.#visit(node.left, scope);
        return this.#visit(node.right, scope);
      case "UpdateExpression":
        if (node.argument.type === "Identifier") return this.#refer(node.argument, scope, "update");
        return this.#visit(node.argument, scope);
      case "ForInStatement":
      case "ForOfStatement": {
        const inner = new Scope("block", node, scope);
        if (node.left.type === "VariableDeclaration" && node.left.kind !== "var") {
          this.#declareLexical(node.left, inner);
        }
        this.#visitLoopHead(node.left, inner);
        this.#visit(node.right, inner);
        return this.#visit(node.body, inner);
      }
      case "ForStatement": {
        const inner = new Scope("block", node, scope);
        if (node.init?.type === "VariableDeclaration" && node.init.kind !== "var") {
          this.#declareLexical(node.init, inner);
        }
        return this.#visitAll([node.init, node.test, node.update, node.body], inner);
      }
      case "BlockStatement": {
        const inner = new Scope("block", node, scope);
        this.#hoistDeclarations(node.body, inner);
        return this.#visitAll(node.body, inner);
      }
      case "SwitchStatement": {
        this.#visit(node.discriminant, scope);
        const inner = new Scope("block", node, scope);
        for (const branch of node.cases) this.#hoistDeclarations(branch.consequent, inner);
        for (const branch of node.cases) this.#visitAll([branch.test, ...branch.consequent], inner);
        return undefined;
      }
      case "CatchClause": {
        const inner = new Scope("catch", node, scope);
        for (const id of boundNames(node.param)) inner.declare(id.name, "catch", node);
        this.#visitPattern(node.param, inner);
        this.#hoistDeclarations(node.body.body, inner);
        return this.#visitAll(node.body.body, inner);
      }
      case "WithStatement":
        this.#note("with", node, scope);
        this.#visit(node.object, scope);
        return this.#visit(node.body, new Scope("with", node, scope));
      case "LabeledStatement":
        return this.#visit(node.body, scope);
      case "ExportNamedDeclaration":
        return this.#visit(node.declaration, scope);
      case "ExportDefaultDeclaration":
        return this.#visit(node.declaration, scope);
      case "CallExpression":
        if (node.callee.type === "Identifier" && node.callee.name === "eval") this.#note("eval", node, scope);
        if (node.callee.type === "Super") this.#visit(node.callee, scope);
        else this.#visitCallee(node.callee, scope);
        return this.#visitAll(node.arguments, scope);
      case "TaggedTemplateExpression":
        this.#visitCallee(node.tag, scope);
        return this.#visit(node.quasi, scope);
      default:
        return node === undefined || node === null ? undefined : this.#visitAll(childrenOf(node), scope);
    }
  }
}

function nameOf(node: AnyNode): string {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" ? String(node.value) : "";
}

function namedAssignment(value: AnyNode | null | undefined): ReferencePosition {
  return value != null && isAnonymousDefinition(value) ? { type: "named-assignment", value } : PLAIN;
}
