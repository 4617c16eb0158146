import type { AnyNode, Identifier, ObjectExpression } from "acorn";
import type { ClassNode, FunctionNode, MemberNode } from "./syntax-tree.ts";

/** How a name is declared. */
export type BindingKind =
  | "var"
  | "let"
  | "const"
  | "class"
  | "function"
  | "parameter"
  | "catch"
  | "import"
  | "function-name"
  | "class-name";

/** A name of an import declaration: `imported` is `*` for a namespace. */
export interface ImportedName {
  readonly source: string;
  readonly imported: string;
}

/** A declared name in one scope of the source. */
export interface Binding {
  readonly name: string;
  kind: BindingKind;
  readonly scope: Scope;
  /** The declarator, function or class that declares it. */
  declaration: AnyNode | undefined;
  readonly imported: ImportedName | undefined;
  /** Every place that assigns to it after its declaration. */
  readonly writes: Reference[];
}

/** A place in the source where a name is used. */
export interface Reference {
  readonly node: Identifier;
  readonly scope: Scope;
  readonly mode: "read" | "write" | "update";
  /** The position of the identifier, as needed for a rewrite. */
  readonly position: ReferencePosition;
  binding: Binding | undefined;
}

/** `shorthand`: `{ x }`, in a literal or a pattern; `callee`: `x()` or a tag; `member`: `x.name`; `plain`: anything else. */
export type ReferencePosition =
  | { readonly type: "plain" }
  | { readonly type: "shorthand" }
  | { readonly type: "callee" }
  | { readonly type: "member"; readonly property: string }
  | { readonly type: "named-assignment"; readonly value: AnyNode };

/** Syntax whose meaning depends on its place. */
export interface ContextualSyntax {
  readonly type: "this" | "super" | "new.target" | "import.meta" | "import()" | "eval" | "private" | "with";
  readonly node: AnyNode;
  readonly scope: Scope;
  /** For a private name, without `#`. */
  readonly name: string | undefined;
}

/** `function` has its own `this` and `arguments`, as have `field` and `static`; `arrow` has neither. */
export type ScopeKind = "top" | "function" | "arrow" | "block" | "class" | "static" | "field" | "catch" | "with";

/** A lexical scope of the source. */
export class Scope {
  readonly kind: ScopeKind;
  readonly node: AnyNode;
  readonly parent: Scope | undefined;
  readonly bindings = new Map<string, Binding>();

  constructor(kind: ScopeKind, node: AnyNode, parent: Scope | undefined) {
    this.kind = kind;
    this.node = node;
    this.parent = parent;
  }

  /** Declares a name, or adds facts when it is declared again (`var`, parameters). */
  declare(name: string, kind: BindingKind, declaration?: AnyNode, imported?: ImportedName): Binding {
    const existing = this.bindings.get(name);
    if (existing !== undefined) {
      if (declaration !== undefined && kind !== "var") {
        existing.kind = kind;
        existing.declaration = declaration;
      }
      return existing;
    }
    const binding: Binding = { name, kind, scope: this, declaration, imported, writes: [] };
    this.bindings.set(name, binding);
    return binding;
  }

  /** The binding a name resolves to from here; undefined when it is not declared in this source. */
  lookup(name: string): Binding | undefined {
    return this.bindings.get(name) ?? this.parent?.lookup(name);
  }

  /** The scope that gives `this` its meaning here: a function, a field initializer, a static block, or the top. */
  receiverScope(): Scope {
    return this.parent === undefined || hasReceiver(this.kind) ? this : this.parent.receiverScope();
  }
}

function hasReceiver(kind: ScopeKind): boolean {
  return kind === "top" || kind === "function" || kind === "static" || kind === "field";
}

/** A function or class in the source, and its place. */
export interface CodeUnit {
  readonly node: FunctionNode | ClassNode;
  /** The scope that surrounds it. */
  readonly scope: Scope;
  /** The method or accessor whose body it is. */
  readonly member: MemberNode | undefined;
  /** The class whose member or constructor it is. */
  readonly owner: ClassNode | undefined;
  /** The object literal whose method or accessor it is. */
  readonly literal: ObjectExpression | undefined;
}
