import { readFileSync, statSync } from "node:fs";
import inspector from "node:inspector";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AnyNode, Program } from "acorn";
import { OWN_URL } from "../shipment/index.ts";
import { childrenOf, isClassNode, isFunctionNode, isWithin, parseSource, type Range } from "../syntax/index.ts";
import { inspect } from "./inspector-session.ts";
import type { Script } from "./scripts.ts";

/*
 * Once the debugger has been on, V8 optimises `await` less for the rest of the process: a loop of awaits runs at a
 * quarter of its speed. So scripts are looked up without it where possible: the profiler lists the URLs of scripts and
 * the places of their functions, and the source is in the file. The source is used only when all of that agrees.
 */

/** A script as the profiler lists it. */
export interface SurveyedScript {
  readonly id: string;
  readonly url: string;
  readonly functions: readonly { readonly name: string; readonly start: number; readonly end: number }[];
}

let isProfilerOn = false;

/** The scripts that V8 lists; none while another tool debugs or profiles this process. */
export function surveyScripts(): SurveyedScript[] {
  // Turning the profiler off, as closing a session does, would also end the measurements of other tools.
  if (inspector.url() !== undefined || process.env["NODE_V8_COVERAGE"] !== undefined) return [];
  if (!isProfilerOn) inspect("Profiler.enable");
  isProfilerOn = true;
  const { result } = inspect<inspector.Profiler.GetBestEffortCoverageReturnType>("Profiler.getBestEffortCoverage");
  return result.map(({ scriptId, url, functions }) => ({
    id: scriptId,
    url: url.startsWith("/") ? `file://${url}` : url,
    functions: functions.flatMap(({ functionName, ranges: [range] }) =>
      range === undefined ? [] : [{ name: functionName, start: range.startOffset, end: range.endOffset }],
    ),
  }));
}

/** The script with its source from its file; undefined unless V8 certainly has the same source. */
export function readSurveyed({ id, url, functions }: SurveyedScript): (Script & { program: Program }) | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = fileURLToPath(url);
  const isModule = loadedAsModule(path);
  if (isModule === undefined) return undefined;
  try {
    const { mtimeMs, ctimeMs } = statSync(path);
    if (Math.max(mtimeMs, ctimeMs) >= performance.timeOrigin) return undefined;
    const source = readFileSync(path, "utf8");
    const sourceMapUrl = sourceMapOf(source);
    if (sourceMapUrl === undefined) return undefined;
    const program = parseSource(source, isModule);
    if (namesItself(source, program) || !agrees(functions, source, program)) return undefined;
    return { id, url, isModule, startLine: 0, startColumn: 0, sourceMapUrl, source, program };
  } catch {
    // No file, or none that can be parsed.
    return undefined;
  }
}

/** Whether a file was loaded as a module or as a CommonJS script; undefined when that is uncertain. */
function loadedAsModule(path: string): boolean | undefined {
  switch (extname(path)) {
    case ".mjs":
      return true;
    case ".cjs":
      return false;
    case ".js": {
      if (packageTypeOf(path) === "module") return true;
      const { cache } = createRequire(OWN_URL);
      const loaded = cache[path];
      return loaded === undefined || inspectable(loaded.exports) === "Module" ? undefined : false;
    }
    default:
      return undefined;
  }
}

function inspectable(exports: unknown): unknown {
  return typeof exports === "object" && exports !== null ? Reflect.get(exports, Symbol.toStringTag) : undefined;
}

/** The URL of the source map. Empty when there is none; undefined when V8 may find another one. */
function sourceMapOf(source: string): string | undefined {
  if (source.startsWith("\u{feff}")) return undefined;
  const mentioned = source.split("sourceMappingURL=").length - 1;
  if (mentioned === 0) return "";
  const [, url] = /\n\/\/# sourceMappingURL=(\S+)\s*$/.exec(source) ?? [];
  return mentioned === 1 ? url : undefined;
}

/** True when a comment may give the script another name. In a string, as in the code of template engines, it does not. */
function namesItself(source: string, program: Program): boolean {
  if (!source.includes("sourceURL=")) return false;
  for (const { index } of source.matchAll(/\/\/[#@](?=.*sourceURL=)/g)) {
    const { type } = innermostAt(program, { start: index, end: index + 1 });
    if (type !== "Literal" && type !== "TemplateElement") return true;
  }
  return false;
}

function innermostAt(node: AnyNode, place: Range): AnyNode {
  for (const child of childrenOf(node)) if (isWithin(place, child)) return innermostAt(child, place);
  return node;
}

/** Whether every function that V8 lists is where the source has one, and the source is as long as V8's. */
function agrees(functions: SurveyedScript["functions"], source: string, program: Program): boolean {
  const places = functionPlaces(source, program);
  return functions.every(({ name, start, end }) => {
    if (start === 0 && name === "" && end >= source.length) return end === source.length;
    return name.startsWith("<") || places.has(`${start}-${end}`);
  });
}

/** Where functions are in the source, in each of the ways in which V8 may count. */
function functionPlaces(source: string, program: Program): Set<string> {
  const places = new Set<string>();
  const visit = (node: AnyNode, member: AnyNode | undefined): void => {
    if (isFunctionNode(node) || isClassNode(node)) {
      places.add(`${node.start}-${node.end}`);
      if (member !== undefined && "key" in member && member.key != null) {
        places.add(`${member.start}-${node.end}`);
        places.add(`${member.key.start}-${node.end}`);
        places.add(`${afterStatic(source, member.start)}-${node.end}`);
      }
    }
    for (const child of childrenOf(node)) visit(child, node);
  };
  visit(program, undefined);
  return places;
}

function afterStatic(source: string, start: number): number {
  const trivia = /static\s+/y;
  trivia.lastIndex = start;
  return trivia.test(source) ? trivia.lastIndex : start;
}

const packageTypes = new Map<string, string>();

/** The type of `.js` files according to the nearest package.json above a file: `module` or `commonjs`. */
function packageTypeOf(path: string): string {
  const directory = dirname(path);
  const known = packageTypes.get(directory);
  if (known !== undefined) return known;
  const type = readType(directory) ?? (directory === dirname(directory) ? "commonjs" : packageTypeOf(directory));
  packageTypes.set(directory, type);
  return type;
}

/** Undefined when there is no package.json in the directory. */
function readType(directory: string): string | undefined {
  try {
    const description: unknown = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    const isModule = typeof description === "object" && description !== null && Reflect.get(description, "type");
    return isModule === "module" ? "module" : "commonjs";
  } catch {
    return undefined;
  }
}
