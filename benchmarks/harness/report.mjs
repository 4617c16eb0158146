import { labels } from "../contenders/labels.mjs";

const COLUMNS = [
  { width: 26, align: "left" },
  { width: 16, align: "right" },
  { width: 7, align: "right" },
  { width: 10, align: "right" },
  { width: 9, align: "right" },
  { width: 18, align: "right" },
  { width: 11, align: "left" },
  { width: 16, align: "left" },
];

/** One point as lines of text: a title, then a row for each contender. */
export function pointLines(point, rows) {
  return [
    `${point.name}: ${point.title}`,
    line([
      "",
      point.unit,
      point.inside === undefined ? "spread" : "",
      rows.some((row) => row.latencyUs) ? "p50" : "",
      "wool-ts is",
      "to reach",
      "",
    ]),
    ...rows.map((row) =>
      line([
        labels[row.contender],
        formatFigure(row.value),
        // Short turns of a few milliseconds vary a lot, so the interval is shown.
        point.inside === undefined ? `±${Math.round(row.spread * 100)}%` : "",
        row.latencyUs === undefined ? "" : `${Math.round(row.latencyUs)} µs`,
        ratioText(row),
        targetText(point, row),
        row.verdict ?? "",
        row.interval === undefined ? "" : row.interval.map((end) => `${end.toFixed(3)}x`).join(" to "),
      ]),
    ),
    "",
  ];
}

function ratioText({ ratio, interval }) {
  if (ratio === undefined) return "";
  return `${interval === undefined ? formatRatio(ratio) : ratio.toFixed(3)}x`;
}

function targetText(point, row) {
  if (row.target !== undefined) return `${formatRatio(row.target)}x`;
  if (row.goal === undefined) return "";
  return `${point.better === "more" ? "at least" : "at most"} ${formatFigure(row.goal)}`;
}

/** How many of the targets are reached. */
export function summaryLine(results) {
  const verdicts = results.flatMap((result) => result.rows.flatMap((row) => row.verdict ?? []));
  const count = (verdict) => verdicts.filter((each) => each === verdict).length;
  return `${verdicts.length} targets: ${count("reached")} reached, ${count("within 2x")} within 2x, ${count("missed")} missed${count("undecided") > 0 ? `, ${count("undecided")} undecided` : ""}`;
}

function line(cells) {
  return `  ${cells.map((cell, i) => pad(cell, COLUMNS[i])).join(" ")}`.trimEnd();
}

function pad(text, { width, align }) {
  return align === "left" ? text.padEnd(width) : text.padStart(width);
}

function formatFigure(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 1 ? 3 : value < 100 ? 1 : 0 });
}

function formatRatio(ratio) {
  if (ratio >= 10) return ratio.toFixed(0);
  return Number.isInteger(ratio) ? String(ratio) : ratio.toPrecision(2);
}
