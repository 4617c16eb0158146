import type { MethodDefinition, PropertyDefinition } from "acorn";
import { type CodeSite, type PrivateMember, privateMembersAt } from "../engine/index.ts";
import { INSERTED } from "../shipment/index.ts";
import { isAnonymousDefinition, isClassNode } from "../syntax/index.ts";
import { emitText, slotsOf } from "./emit-text.ts";
import { innerPlan, innerSites } from "./private-closures.ts";
import { slotCode } from "./slot-code.ts";
import { SourceEdits } from "./source-edits.ts";

/** A member of a class whose key was computed when the class was defined. */
export type ComputedMember = MethodDefinition | PropertyDefinition;

/** The members whose computed keys have to be read from the live class, in source order. */
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
 * Removes the code of a class that ran when it was defined. The superclass, computed keys and static fields come from
 * the live class, so static fields are not initialized again. Static blocks are removed.
 */
export function emitClass(edits: SourceEdits, site: CodeSite, base: string): void {
  const { node } = site.unit;
  if (!isClassNode(node)) return;
  if (node.superClass != null) edits.replace(node.superClass, base + INSERTED.superclass);
  const computed = computedMembers(site);
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") edits.replace(member, "");
    else if (member.key.type === "PrivateIdentifier") continue;
    else if (member.type === "PropertyDefinition" && member.static) edits.replace(member, ";");
    else if (member.computed) edits.replace(member.key, keyAt(base, computed.indexOf(member)));
  }
  const members = privateMembersAt(site);
  const instance = members.filter(({ isStatic }) => !isStatic);
  if (instance.length > 0) emitInstancePrivates(edits, site, base, instance, computed.length);
  emitStaticPrivates(edits, site, base, members);
  emitInner(edits, site, base);
}

/** Adds code that makes the functions that can only be made inside the class. */
function emitInner(edits: SourceEdits, site: CodeSite, base: string): void {
  const { node } = site.unit;
  for (const inner of innerSites(site)) {
    const plan = innerPlan(inner);
    const own = new SourceEdits();
    emitText(own, inner, plan, base);
    const { declaration, fill, read } = slotCode(slotsOf(plan, base), true);
    const text = own.apply(inner.file.source, inner.range);
    edits.insert(
      node.end - 1,
      `;static{${base}${INSERTED.inner}.push(()=>{${declaration}return[${fill},${read},(${text}\n)]})}`,
    );
  }
}

function keyAt(base: string, index: number): string {
  return `${base}${INSERTED.keys}[${index}]`;
}

/**
 * A private name can be given to an object only by constructing the class that declares it, and constructing runs the
 * user's code. So a class around the user's class declares the names. It does nothing else and can be constructed on
 * any object. A private method is defined under a symbol, so that `super` in it keeps its meaning, and becomes a
 * private field of the class around.
 */
function emitInstancePrivates(
  edits: SourceEdits,
  site: CodeSite,
  base: string,
  members: readonly PrivateMember[],
  firstKey: number,
): void {
  const { node } = site.unit;
  if (!isClassNode(node)) return;
  const outer = base + INSERTED.outer;
  const methods = base + INSERTED.methods;
  const fields: string[] = [];
  let declared = "";
  let position = 0;
  for (const { kind, name, node: member } of members) {
    if (kind === "field") {
      fields.push(name);
      emitField(edits, site.file.source, base, name, fields.length, member);
      continue;
    }
    edits.replace(member.key, `[${keyAt(base, firstKey + position)}]`);
    if (kind === "method") declared += `#${name}=${methods}[${position}];`;
    else if (kind === "get") declared += `get #${name}(){return ${methods}[${position}].call(this)}`;
    else declared += `set #${name}(v){${methods}[${position}].call(this,v)}`;
    position += 1;
  }
  const [{ name: anyName } = { name: "" }] = members;
  const access = fields.map((name) => `o.#${name}`);
  const assignments = access.map((target, index) => `${target}=v[${index}];`).join("");
  edits.insert(
    node.start,
    `class ${outer} extends ${base}${INSERTED.returner}{${fields.map((name) => `#${name};`).join("")}${declared}` +
      `static ${base}access=[o=>#${anyName} in o,o=>{new ${outer}(o)},o=>[${access.join()}],(o,v)=>{${assignments}}];` +
      `static ${base}class=`,
  );
  edits.insert(node.body.start + 1, `#${base}=void new ${outer}(this);`);
  edits.insert(node.end, "}");
}

/** From the key of a field to its initializer. */
const TO_INITIALIZER = /(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*\n)*=/y;

function emitField(
  edits: SourceEdits,
  source: string,
  base: string,
  name: string,
  number: number,
  member: MethodDefinition | PropertyDefinition,
): void {
  const { value } = member;
  if (value == null) {
    edits.replace(member, ";");
    return;
  }
  const [before, after] = isAnonymousDefinition(value) ? [`{"#${name}":`, `}["#${name}"]`] : ["", ""];
  // The initializer may be in parentheses, which are not part of its node.
  TO_INITIALIZER.lastIndex = member.key.end;
  TO_INITIALIZER.exec(source);
  const start = TO_INITIALIZER.lastIndex;
  const end = source[member.end - 1] === ";" ? member.end - 1 : member.end;
  edits.replace({ start: member.start, end: start }, `#${base}${number}=void(this.#${name}=(${before}`);
  edits.insert(end, `${after}))`);
}

function emitStaticPrivates(edits: SourceEdits, site: CodeSite, base: string, members: readonly PrivateMember[]): void {
  const { node } = site.unit;
  if (!isClassNode(node)) return;
  const fields = members.filter(({ isStatic, kind }) => isStatic && kind === "field");
  if (fields.length === 0) return;
  for (const { node: member, name } of fields) edits.replace(member, `static #${name};`);
  const access = fields.map(({ name }) => `this.#${name}`);
  const assignments = access.map((target, index) => `${target}=v[${index}];`).join("");
  const statics = base + INSERTED.statics;
  edits.insert(node.end - 1, `;static{${statics}[0]=()=>[${access.join()}];${statics}[1]=v=>{${assignments}}}`);
}
