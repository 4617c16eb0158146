import { type CodeSite, isStandardGlobal, siteOf } from "../engine/index.ts";
import { sourceTextOf } from "../shipment/index.ts";
import { analyzeScopes, isFunctionNode, parseSource } from "../syntax/index.ts";

/**
 * The code of a function that uses nothing but its parameters and what every process has, read from its own text;
 * undefined when it uses anything else.
 */
export function selfContainedSite(fn: object): CodeSite | undefined {
  const source = `(${sourceTextOf(fn)}\n)`;
  try {
    const program = parseSource(source, true);
    const script = { id: "", url: "", isModule: true, startLine: 0, startColumn: 0, sourceMapUrl: "", source };
    const file = { script, source, program, analysis: analyzeScopes(program), lineStarts: [0] };
    const [unit] = file.analysis.units;
    if (unit === undefined || !isFunctionNode(unit.node) || unit.node.start !== 1) return undefined;
    const site = siteOf(file, unit);
    const isClosed = [...site.free.keys()].every((name) => isStandardGlobal(name)) && site.outward.length === 0;
    return isClosed ? site : undefined;
  } catch {
    // A method, a class member, or code that only makes sense where it is.
    return undefined;
  }
}
