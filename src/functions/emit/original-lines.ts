import { SourceMap, type SourceMapPayload } from "node:module";
import { parse, type Token } from "acorn";
import { positionOf, type SourceFile } from "../engine/index.ts";
import type { Range } from "../syntax/index.ts";
import type { SourceEdits } from "./source-edits.ts";

/** A transpiled source and where its pieces come from. */
interface MappedSource {
  readonly map: SourceMap;
  /** Offsets before which a line may be broken without changing the meaning. */
  readonly breaks: readonly number[];
}

const mapped = new WeakMap<SourceFile, MappedSource | "none">();
const INLINE = /^data:application\/json[^,]*;base64,/;

// A line break after these tokens never inserts a semicolon or starts a new field.
const BREAKABLE: ReadonlySet<string> = new Set(["{", "(", "[", ",", ";", "}", ")", "]", ":", "?", "=", "${", "=>"]);
const ATTACHED: ReadonlySet<string> = new Set(["template", "`", "++/--", "=>", "invalidTemplate"]);

function mappedSourceOf(file: SourceFile): MappedSource | undefined {
  const known = mapped.get(file);
  if (known !== undefined) return known === "none" ? undefined : known;
  const found = readMap(file);
  mapped.set(file, found ?? "none");
  return found;
}

/** Only an inline source map counts: then the running code differs from the file. */
function readMap(file: SourceFile): MappedSource | undefined {
  const { sourceMapUrl } = file.script;
  const inline = INLINE.exec(sourceMapUrl);
  if (inline === null) return undefined;
  try {
    const payload: SourceMapPayload = JSON.parse(
      Buffer.from(sourceMapUrl.slice(inline[0].length), "base64").toString("utf8"),
    );
    return payload.sources.length === 1 ? { map: new SourceMap(payload), breaks: breaksOf(file) } : undefined;
  } catch {
    return undefined;
  }
}

function breaksOf(file: SourceFile): number[] {
  const breaks: number[] = [];
  let previous: Token | undefined;
  parse(file.source, {
    ecmaVersion: "latest",
    sourceType: file.script.isModule ? "module" : "script",
    allowAwaitOutsideFunction: true,
    allowReturnOutsideFunction: true,
    allowSuperOutsideMethod: true,
    checkPrivateFields: false,
    onToken: (token) => {
      const isBreakable = previous !== undefined && BREAKABLE.has(previous.type.label);
      if (isBreakable && !ATTACHED.has(token.type.label)) breaks.push(token.start);
      previous = token;
    },
  });
  return breaks;
}

/** The line and column, from 0, in the file that the user wrote; undefined when the source is what the user wrote. */
export function originalPosition(file: SourceFile, offset: number): { line: number; column: number } | undefined {
  const source = mappedSourceOf(file);
  if (source === undefined) return undefined;
  const { line, column } = positionOf(file, offset);
  const entry = source.map.findEntry(line - file.script.startLine, column);
  if (!("originalLine" in entry) || typeof entry.originalLine !== "number") return undefined;
  return { line: entry.originalLine, column: entry.originalColumn };
}

/** Breaks lines in transpiled code so that each piece of it stands on the line on which the user wrote it. */
export function restoreLines(edits: SourceEdits, file: SourceFile, range: Range): void {
  const source = mappedSourceOf(file);
  const start = originalPosition(file, range.start);
  if (source === undefined || start === undefined) return;
  let { line } = start;
  let at = range.start;
  for (const offset of source.breaks) {
    if (offset <= range.start) continue;
    if (offset >= range.end) break;
    for (
      let next = file.source.indexOf("\n", at);
      next >= 0 && next < offset;
      next = file.source.indexOf("\n", next + 1)
    ) {
      line += 1;
    }
    at = offset;
    const wanted = originalPosition(file, offset)?.line ?? line;
    if (wanted <= line) continue;
    edits.insert(offset, "\n".repeat(wanted - line));
    line = wanted;
  }
}
