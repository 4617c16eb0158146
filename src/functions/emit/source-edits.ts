import type { Range } from "../syntax/index.ts";

interface Edit extends Range {
  readonly text: string;
}

/** Collects replacements in a source by its original offsets, and applies them to a part of it. */
export class SourceEdits {
  readonly #edits: Edit[] = [];

  replace(range: Range, text: string): void {
    this.#edits.push({ start: range.start, end: range.end, text });
  }

  insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text });
  }

  /** The text of `range` with every replacement in it; one that lies inside another is dropped. */
  apply(source: string, range: Range): string {
    const edits = this.#edits
      .filter(({ start, end }) => start >= range.start && end <= range.end)
      .map((edit, order) => ({ ...edit, order }))
      .sort((a, b) => a.start - b.start || byExtent(a, b) || a.order - b.order);
    let text = "";
    let at = range.start;
    for (const edit of edits) {
      if (edit.start < at) continue;
      text += source.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + source.slice(at, range.end);
  }
}

/** An insertion comes before a replacement that starts at the same place, and the wider replacement wins. */
function byExtent(a: Edit, b: Edit): number {
  const isInsertion = Number(b.start === b.end) - Number(a.start === a.end);
  return isInsertion === 0 ? b.end - a.end : isInsertion;
}
