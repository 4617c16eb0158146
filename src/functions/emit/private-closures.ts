import { type CodeSite, privateMembers, siteOf } from "../engine/index.ts";
import { type ClassNode, isClassNode, type Scope } from "../syntax/index.ts";
import { type EmissionPlan, staticPlan } from "./emission-plan.ts";

/**
 * Functions inside a class that use its private names without being its members: the value of a field, a callback in a
 * method. They can be made again only inside the class, so the code of the class makes them.
 */
export function innerSites(site: CodeSite): CodeSite[] {
  const { node } = site.unit;
  if (!isClassNode(node)) return [];
  return site.file.analysis.units
    .filter((unit) => !isClassNode(unit.node) && unit.node.start > node.start && unit.node.end < node.end)
    .map((unit) => siteOf(site.file, unit))
    .filter((inner) => inner.form === "expression" && privateOwner(inner) === node);
}

/** The class that declares all private names that a piece of code uses without declaring them; undefined when none. */
export function privateOwner(site: CodeSite): ClassNode | undefined {
  const names = site.outward.flatMap(({ type, name }) => (type === "private" && name !== undefined ? [name] : []));
  if (names.length === 0) return undefined;
  for (let scope: Scope | undefined = site.unit.scope; scope !== undefined; scope = scope.parent) {
    const { node } = scope;
    if (scope.kind !== "class" || !isClassNode(node)) continue;
    const declared = new Set(privateMembers(node).map(({ name }) => name));
    if (names.every((name) => declared.has(name))) return node;
    if (names.some((name) => declared.has(name))) return undefined;
  }
  return undefined;
}

/** The plan for the captured variables of such a function. The class provides its own name. */
export function innerPlan(site: CodeSite): EmissionPlan {
  const owner = privateOwner(site);
  return staticPlan(site, ({ binding }) => binding?.kind === "class-name" && binding.scope.node === owner);
}
