import type { MethodDefinition, PropertyDefinition } from "acorn";
import { INSERTED } from "./code-data.ts";
import type { CodeSite } from "./code-site.ts";
import { isClassNode } from "./scope-analysis.ts";
import type { SourceEdits } from "./source-edits.ts";

/** A member of a class whose key was computed when the class was defined. */
export type ComputedMember = MethodDefinition | PropertyDefinition;

/** The members whose computed keys the live class has to tell, in source order. */
export function computedMembers(site: CodeSite): ComputedMember[] {
  const { node } = site.unit;
  if (!isClassNode(node)) return [];
  const members: ComputedMember[] = [];
  for (const member of node.body.body) {
    if (member.type === "StaticBlock" || !member.computed) continue;
    if (member.type === "PropertyDefinition" && member.static) continue;
    members.push(member);
  }
  return members;
}

/**
 * Takes out of a class what ran when it was defined: the superclass and computed keys come from the live class, and
 * so do static fields, which are therefore not initialized again; static blocks are gone.
 */
export function emitClass(edits: SourceEdits, site: CodeSite, base: string): void {
  const { node } = site.unit;
  if (!isClassNode(node)) return;
  if (node.superClass != null) edits.replace(node.superClass, base + INSERTED.superclass);
  const computed = computedMembers(site);
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") edits.replace(member, "");
    else if (member.type === "PropertyDefinition" && member.static && member.key.type !== "PrivateIdentifier") {
      edits.replace(member, ";");
    } else if (member.computed) {
      edits.replace(member.key, `${base}${INSERTED.keys}[${computed.indexOf(member)}]`);
    }
  }
}
