import { ambientLetter } from "./ambient-names.ts";
import { type CodeData, INSERTED } from "./code-data.ts";
import type { CodeSite, FreeName } from "./code-site.ts";
import { emitClass } from "./emit-class.ts";
import { originalPosition, restoreLines } from "./original-lines.ts";
import { privateMembersAt } from "./private-members.ts";
import { rootRelativeFile } from "./root.ts";
import type { Reference } from "./scope.ts";
import { SourceEdits } from "./source-edits.ts";
import { positionOf } from "./source-file.ts";

/** How the free names of a piece of code are provided for. Names in neither list are left to the receiver's globals. */
export interface EmissionPlan {
  /** Captured variables that nobody assigns to. */
  readonly slots: readonly string[];
  /** Captured variables that some function assigns to. */
  readonly cells: readonly string[];
  /** The value of `this` outside of an arrow function is a captured variable too. */
  readonly capturesThis: boolean;
}

/** A prefix that no name in this text begins with. */
function freshBase(text: string): string {
  let base = "$w";
  while (text.includes(base)) base += "$";
  return base;
}

/**
 * Turns the code at a site into text that stands on its own: its captured variables become slots, those that are
 * assigned to become `name.v` of a shared cell, and what only makes sense in a module is routed to the receiver.
 */
export function emitCode(site: CodeSite, plan: EmissionPlan): CodeData {
  const { file, unit, range } = site;
  const base = freshBase(file.source.slice(range.start, range.end));
  const edits = new SourceEdits();
  const slots = [...plan.slots, ...plan.cells].map((name) => (name === "arguments" ? base + INSERTED.arguments : name));
  if (plan.capturesThis) slots.push(base + INSERTED.receiver);
  for (const name of plan.cells) rewriteToCell(edits, site.free.get(name));
  for (const reference of site.free.get("arguments")?.references ?? []) {
    const isShorthand = reference.position.type === "shorthand";
    edits.replace(reference.node, (isShorthand ? "arguments:" : "") + base + INSERTED.arguments);
  }
  rewriteContextual(edits, site, plan, base);
  renameInserted(edits, site, base);
  restoreLines(edits, file, range);
  if (site.form === "class") emitClass(edits, site, base);
  if (site.form === "method") replaceComputedKey(edits, site, base);
  // A declared function's own name would hide a slot of the same name.
  if (unit.node.type === "FunctionDeclaration" && unit.node.id != null && slots.includes(unit.node.id.name)) {
    edits.replace(unit.node.id, "");
  }
  const { url } = file.script;
  return {
    kind: "code",
    form: site.form,
    text: edits.apply(file.source, range),
    isStrict: site.isStrict,
    slots,
    base,
    url,
    file: rootRelativeFile(url),
    ...(originalPosition(file, range.start) ?? positionOf(file, range.start)),
    ...privatesOf(site),
  };
}

function privatesOf(site: CodeSite): Pick<CodeData, "privateFields" | "privateMethods" | "privateStatics"> {
  const members = privateMembersAt(site);
  const instance = members.filter(({ isStatic }) => !isStatic);
  return {
    privateFields: instance.filter(({ kind }) => kind === "field").map(({ name }) => name),
    privateMethods: instance.flatMap(({ name, kind }) =>
      kind === "field" ? [] : [{ name, slot: kind === "method" ? "value" : kind }],
    ),
    privateStatics: members.filter(({ isStatic, kind }) => isStatic && kind === "field").map(({ name }) => name),
  };
}

/** What the receiver provides under another name than the source has for it. */
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
