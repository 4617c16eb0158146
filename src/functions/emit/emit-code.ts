import { type CodeSite, positionOf, privateMembersAt } from "../engine/index.ts";
import { rootRelativeFile } from "../modules/index.ts";
import type { CodeData } from "../shipment/index.ts";
import { isPromptFunction } from "../syntax/index.ts";
import type { EmissionPlan } from "./emission-plan.ts";
import { emitClass } from "./emit-class.ts";
import { emitText, slotsOf } from "./emit-text.ts";
import { originalPosition, restoreLines } from "./original-lines.ts";
import { innerPlan, innerSites } from "./private-closures.ts";
import { SourceEdits } from "./source-edits.ts";

/** A prefix that no name in this text begins with. */
function freshBase(text: string): string {
  let base = "$w";
  while (text.includes(base)) base += "$";
  return base;
}

/** Turns the code at a site into code data, from which a receiver can make functions. */
export function emitCode(site: CodeSite, plan: EmissionPlan): CodeData {
  const { file, range } = site;
  const { url } = file.script;
  const base = freshBase(file.source.slice(range.start, range.end));
  const edits = new SourceEdits();
  emitText(edits, site, plan, base);
  restoreLines(edits, file, range);
  if (site.form === "class") emitClass(edits, site, base);
  const text = edits.apply(file.source, range);
  return {
    kind: "code",
    form: site.form,
    text,
    isStrict: site.isStrict,
    isPrompt: site.form === "expression" && text.startsWith("async") && isPromptFunction(site.unit.node),
    slots: slotsOf(plan, base),
    base,
    url,
    file: rootRelativeFile(url),
    ...(originalPosition(file, range.start) ?? positionOf(file, range.start)),
    ...privateMembersOf(site),
    inner: innerSites(site).map((inner) => slotsOf(innerPlan(inner), base)),
  };
}

function privateMembersOf(site: CodeSite): Pick<CodeData, "privateFields" | "privateMethods" | "privateStatics"> {
  const members = privateMembersAt(site);
  const instance = members.filter(({ isStatic }) => !isStatic);
  return {
    privateFields: instance.filter(({ kind }) => kind === "field").map(({ name }) => name),
    privateMethods: instance.flatMap(({ name, kind }) =>
      kind === "field" ? [] : [{ name, role: kind === "method" ? "value" : kind }],
    ),
    privateStatics: members.filter(({ isStatic, kind }) => isStatic && kind === "field").map(({ name }) => name),
  };
}
