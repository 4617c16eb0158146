import type { ObjectExpression } from "acorn";
import type { Scope } from "./scope.ts";
import type { ClassNode, FunctionNode, MemberNode } from "./syntax-tree.ts";

/** A function or class in the source, and where it stands. */
export interface CodeUnit {
  readonly node: FunctionNode | ClassNode;
  /** The scope that surrounds it. */
  readonly scope: Scope;
  /** The method or accessor that it is the body of. */
  readonly member: MemberNode | undefined;
  /** The class whose member or constructor it is. */
  readonly owner: ClassNode | undefined;
  /** The object literal whose method or accessor it is. */
  readonly literal: ObjectExpression | undefined;
}
