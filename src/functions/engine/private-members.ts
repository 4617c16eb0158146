import type { MethodDefinition, PropertyDefinition } from "acorn";
import { type ClassNode, isClassNode } from "../syntax/index.ts";
import type { CodeSite } from "./code-site.ts";

/** A private member of a class. */
export interface PrivateMember {
  /** Without `#`. */
  readonly name: string;
  readonly kind: "field" | "method" | "get" | "set";
  readonly isStatic: boolean;
  readonly node: MethodDefinition | PropertyDefinition;
}

/** The private members that a class declares, in source order. */
export function privateMembers(node: ClassNode): PrivateMember[] {
  const members: PrivateMember[] = [];
  for (const member of node.body.body) {
    if (member.type === "StaticBlock" || member.key.type !== "PrivateIdentifier") continue;
    const { name } = member.key;
    const kind = member.type === "PropertyDefinition" ? "field" : member.kind;
    if (kind === "constructor") continue;
    members.push({ name, kind, isStatic: member.static, node: member });
  }
  return members;
}

/** The private members of the class at a site. */
export function privateMembersAt(site: CodeSite): PrivateMember[] {
  return isClassNode(site.unit.node) ? privateMembers(site.unit.node) : [];
}
