import type { ExplainedPart, Explanation, Refusal } from "../index.ts";
import type { Terminal, Tone } from "./command.ts";

const MAX_LABEL = 48;
const MIN_REASON = 20;

/** A line of the tree, before its columns are aligned. */
interface Row {
  /** The lines of the tree in front of this part, and in front of the parts below it. */
  readonly branch: string;
  readonly below: string;
  readonly label: string;
  readonly way: string;
  readonly size: string;
  readonly reason: string;
  readonly tone: Tone | undefined;
  readonly refusal: Refusal | undefined;
}

/** An explanation as lines of text, no longer than the terminal is wide. */
export function formatExplanation(title: string, explanation: Explanation, terminal: Terminal): string {
  const rows = rowsOf(explanation.parts, explanation.omitted, "  ", terminal.columns);
  return [...headOf(title, explanation, terminal), ...(rows.length === 0 ? [] : [""]), ...tableOf(rows, terminal)].join(
    "\n",
  );
}

function headOf(title: string, explanation: Explanation, terminal: Terminal): string[] {
  const { by, kind, reason, refusal, bytes, codeBytes, notes } = explanation;
  const verdict = by === "nothing" ? "cannot travel" : `travels by ${by}`;
  const first = `${terminal.tone("title", title)} (${kind}) ${terminal.tone(by === "nothing" ? "bad" : "good", verdict)}`;
  if (refusal !== undefined) return [first, ...refusalLines(refusal, "  ", terminal)];
  const noteLines = notes.flatMap((note) => wrapped(`note: ${note}`, "  ", terminal));
  const lines = [first, ...wrapped(`why: ${reason}`, "  ", terminal), ...noteLines];
  if (bytes === undefined || codeBytes === undefined) return lines;
  const code =
    codeBytes === 0
      ? ""
      : by === "reference"
        ? ` and ${formatBytes(codeBytes)} to name the module`
        : ` and ${formatBytes(codeBytes)} of code`;
  return [...lines, `  size: ${formatBytes(bytes)}${code}`];
}

function refusalLines({ path, reason, fix }: Refusal, indent: string, terminal: Terminal): string[] {
  return [
    ...wrapped(`refused: ${path}: ${reason}`, indent, terminal, "bad"),
    ...wrapped(`fix: ${fix}`, indent, terminal, "fix"),
  ];
}

function wrapped(text: string, indent: string, terminal: Terminal, tone?: Tone): string[] {
  return wrapText(text, terminal.columns - indent.length).map(
    (line) => indent + (tone === undefined ? line : terminal.tone(tone, line)),
  );
}

function rowsOf(parts: readonly ExplainedPart[], omitted: number, indent: string, columns: number): Row[] {
  const rows = parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1 && omitted === 0;
    const branch = `${indent}${isLast ? "└─ " : "├─ "}`;
    const below = `${indent}${isLast ? "   " : "│  "}`;
    const inside = rowsOf(part.parts, part.omitted, below, columns);
    return [rowOf(part, branch, inside.length === 0 ? below : `${below}│  `, columns), ...inside];
  });
  if (omitted === 0) return rows;
  const blank = { below: indent, way: "", size: "", reason: "", tone: "faint", refusal: undefined } as const;
  return [...rows, { ...blank, branch: `${indent}└─ `, label: `${omitted} more` }];
}

function rowOf(part: ExplainedPart, branch: string, below: string, columns: number): Row {
  const { name, kind, value, by, reason, bytes, codeBytes, refusal, sameAs, parts } = part;
  const mark = refusal === undefined ? "" : "✖ ";
  const label = `${mark}${name}${kind === "definition" ? " " : " = "}${value}`;
  const room = Math.max(Math.min(MAX_LABEL, Math.floor(columns * 0.45)) - branch.length, mark.length + name.length + 1);
  return {
    branch,
    below,
    label: label.length <= room ? label : `${label.slice(0, room - 1)}…`,
    way: sameAs !== undefined ? "" : by === "nothing" ? "refused" : `by ${by}`,
    size: sameAs !== undefined || bytes === undefined ? "" : sizeOf(bytes, codeBytes ?? 0),
    reason: refusal === undefined ? reason : "",
    tone: refusal === undefined ? undefined : "bad",
    // Shown only at the part that is nearest to it.
    refusal: parts.some((inner) => inner.refusal?.path === refusal?.path) ? undefined : refusal,
  };
}

function sizeOf(bytes: number, codeBytes: number): string {
  return codeBytes === 0 ? formatBytes(bytes) : `${formatBytes(bytes)} + ${formatBytes(codeBytes)} code`;
}

function tableOf(rows: readonly Row[], terminal: Terminal): string[] {
  const widths = {
    label: Math.max(0, ...rows.map(({ branch, label }) => branch.length + label.length)),
    way: Math.max(0, ...rows.map(({ way }) => way.length)),
    size: Math.max(0, ...rows.map(({ size }) => size.length)),
  };
  const start = widths.label + widths.way + widths.size + 6;
  return rows.flatMap((row) => linesOf(row, widths, start, terminal));
}

function linesOf(
  { branch, below, label, way, size, reason, tone, refusal }: Row,
  widths: { readonly label: number; readonly way: number; readonly size: number },
  start: number,
  terminal: Terminal,
): string[] {
  const shown = tone === undefined ? label : terminal.tone(tone, label);
  const padding = " ".repeat(widths.label - branch.length - label.length);
  const columns = `${shown}${padding}  ${way.padEnd(widths.way)}  ${size.padStart(widths.size)}`;
  const room = terminal.columns - start;
  const lines =
    room >= MIN_REASON
      ? beside(columns, wrapText(reason, room), below, start, terminal)
      : [columns, ...wrapText(reason, terminal.columns - below.length - 2).map((line) => `${below}  ${line}`)];
  const [first = "", ...rest] = lines;
  const told = refusal === undefined ? [] : refusalLines(refusal, `${below}  `, terminal);
  return [`${terminal.tone("faint", branch)}${first}`, ...rest, ...told].map((line) => line.trimEnd());
}

/** The reason in its own column, on as many lines as needed. */
function beside(
  columns: string,
  reason: readonly string[],
  below: string,
  start: number,
  terminal: Terminal,
): string[] {
  const [first = "", ...rest] = reason;
  const continued = rest.map((line) => below.padEnd(start) + terminal.tone("faint", line));
  return [`${columns}  ${terminal.tone("faint", first)}`, ...continued];
}

const UNITS = ["kB", "MB", "GB", "TB"];

/** A number of bytes for people: `12 B`, `3.4 kB`, `120 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let amount = bytes;
  let unit = "B";
  for (const next of UNITS) {
    // A value that would be shown as 1000 is shown in the next unit.
    if (amount < 999.5) break;
    amount /= 1000;
    unit = next;
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

/** A text as lines of at most `width` characters, broken between words; a longer word gets its own line. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line === "") line = word;
    else if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  if (line !== "") lines.push(line);
  return lines;
}
