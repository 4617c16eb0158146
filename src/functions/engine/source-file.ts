import type { AnyNode, Program } from "acorn";
import { BoundedMap } from "../shipment/index.ts";
import { analyzeScopes, type CodeUnit, isClassNode, parseSource, type ScopeAnalysis } from "../syntax/index.ts";
import type { FunctionLocation } from "./function-views.ts";
import { type Script, scriptOf } from "./scripts.ts";

/** A parsed script, with its names resolved. */
export interface SourceFile {
  readonly script: Script;
  readonly source: string;
  readonly program: Program;
  readonly analysis: ScopeAnalysis;
  /** Offset of the first character of each line. */
  readonly lineStarts: readonly number[];
}

const parsed = new BoundedMap<string, SourceFile>(64);

/** The script of that id, parsed; undefined when V8 does not show its source. Throws a `SyntaxError` that acorn raises. */
export function sourceFileOf(scriptId: string): SourceFile | undefined {
  const cached = parsed.get(scriptId);
  if (cached !== undefined) return cached;
  const script = scriptOf(scriptId);
  if (script?.source === undefined) return undefined;
  const { source } = script;
  const program = script.program ?? parseSource(source, script.isModule);
  const file = { script, source, program, analysis: analyzeScopes(program), lineStarts: lineStartsOf(source) };
  parsed.set(scriptId, file);
  return file;
}

/** Lines end where the engine ends them, not only at a newline. */
function lineStartsOf(source: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of source.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(index + end.length);
  return starts;
}

/** Offset in the source of a position that V8 gave. */
function offsetOf(file: SourceFile, location: FunctionLocation): number {
  const line = location.line - file.script.startLine;
  const column = line === 0 ? location.column - file.script.startColumn : location.column;
  return (file.lineStarts[line] ?? 0) + column;
}

/** Line and column, from 0, that V8 would give for an offset. */
export function positionOf(file: SourceFile, offset: number): { line: number; column: number } {
  let low = 0;
  let high = file.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((file.lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  const column = offset - (file.lineStarts[low] ?? 0);
  return { line: low + file.script.startLine, column: low === 0 ? column + file.script.startColumn : column };
}

/**
 * The function or class at a position. V8 points at the parameters of a function, at the start of an arrow, and for a
 * class at its constructor or, without one, at its start. The result is the innermost unit around that position.
 */
export function unitAt(file: SourceFile, location: FunctionLocation, isClass: boolean): CodeUnit | undefined {
  const offset = offsetOf(file, location);
  let best: CodeUnit | undefined;
  for (const unit of file.analysis.units) {
    if (isClassNode(unit.node) !== isClass) continue;
    if (unit.node.start > offset || offset >= unit.node.end) continue;
    if (best === undefined || unit.node.end - unit.node.start <= best.node.end - best.node.start) best = unit;
  }
  return best;
}

/** The range of the text that `toString()` shows for a unit: for a method with its name but without `static`. */
export function textRangeOf(file: SourceFile, unit: CodeUnit): { start: number; end: number } {
  const { member, node } = unit;
  if (member === undefined || member.type === "PropertyDefinition") return { start: node.start, end: node.end };
  if (member.type !== "MethodDefinition" || !member.static) return { start: member.start, end: member.end };
  return { start: skipStatic(file.source, member), end: member.end };
}

function skipStatic(source: string, member: AnyNode): number {
  const trivia = /(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*\n)*/y;
  trivia.lastIndex = member.start + "static".length;
  trivia.exec(source);
  return trivia.lastIndex;
}
