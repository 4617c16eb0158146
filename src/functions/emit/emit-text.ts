import type { CodeSite, FreeName } from "../engine/index.ts";
import { INSERTED } from "../shipment/index.ts";
import type { Reference } from "../syntax/index.ts";
import { ambientLetter } from "./ambient-names.ts";
import type { EmissionPlan } from "./emission-plan.ts";
import type { SourceEdits } from "./source-edits.ts";

/** The names of a plan's slots, in the order of the parts that fill them. */
export function slotsOf(plan: EmissionPlan, base: string): string[] {
  const slots = [...plan.slots, ...plan.cells].map((name) => (name === "arguments" ? base + INSERTED.arguments : name));
  return plan.capturesThis ? [...slots, base + INSERTED.receiver] : slots;
}

/**
 * Rewrites the code at a site so that it stands on its own: variables that are assigned to become `name.v` of a shared
 * cell, and syntax that needs a module, such as `import()`, uses functions of the receiver.
 */
export function emitText(edits: SourceEdits, site: CodeSite, plan: EmissionPlan, base: string): void {
  const { unit } = site;
  for (const name of plan.cells) rewriteToCell(edits, site.free.get(name));
  for (const { node, position } of site.free.get("arguments")?.references ?? []) {
    edits.replace(node, (position.type === "shorthand" ? "arguments:" : "") + base + INSERTED.arguments);
  }
  rewriteContextual(edits, site, plan, base);
  renameInserted(edits, site, base);
  if (site.form === "method") replaceComputedKey(edits, site, base);
  // A declared function's own name would hide a slot of the same name.
  if (unit.node.type === "FunctionDeclaration" && unit.node.id != null) {
    if (slotsOf(plan, base).includes(unit.node.id.name)) edits.replace(unit.node.id, "");
  }
}

/** Renames what the receiver provides under another name. */
function renameInserted(edits: SourceEdits, site: CodeSite, base: string): void {
  for (const free of site.free.values()) {
    const letter = ambientLetter(free);
    if (letter === undefined) continue;
    for (const { node } of free.references) edits.replace(node, base + letter);
  }
}

function rewriteToCell(edits: SourceEdits, free: FreeName | undefined): void {
  for (const reference of free?.references ?? []) edits.replace(reference.node, cellAccess(reference));
  for (const { node, position } of free?.references ?? []) {
    if (position.type !== "named-assignment") continue;
    // A function takes the name of the variable it is assigned to, but not that of a property.
    edits.insert(position.value.start, `({${node.name}:`);
    edits.insert(position.value.end, `}).${node.name}`);
  }
}

function cellAccess({ node, position }: Reference): string {
  const access = `${node.name}.v`;
  if (position.type === "shorthand") return `${node.name}:${access}`;
  return position.type === "callee" ? `(0,${access})` : access;
}

function rewriteContextual(edits: SourceEdits, site: CodeSite, plan: EmissionPlan, base: string): void {
  for (const { type, node } of site.contextual) {
    if (type === "import.meta") edits.replace(node, base + INSERTED.meta);
    else if (type === "import()") {
      edits.replace({ start: node.start, end: node.start + "import".length }, base + INSERTED.importer);
    }
  }
  for (const { type, node } of site.outward) {
    if (type === "this") edits.replace(node, plan.capturesThis ? base + INSERTED.receiver : "(void 0)");
  }
}

/** A computed key was evaluated where the method was defined; its name is set again once the method exists. */
function replaceComputedKey(edits: SourceEdits, site: CodeSite, base: string): void {
  const { member } = site.unit;
  if (member === undefined) return;
  if (member.computed) edits.replace(member.key, "0");
  else if (member.key.type === "PrivateIdentifier") edits.replace(member.key, base + INSERTED.method);
}
