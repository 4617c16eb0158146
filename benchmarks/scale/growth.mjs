/** The median of the microseconds that `work` takes, once for each of `times`. */
export async function timeEach(times, work) {
  const taken = [];
  for (let i = 0; i < times; i++) {
    const from = performance.now();
    await work(i);
    taken.push((performance.now() - from) * 1000);
  }
  return median(taken);
}

export function median(figures) {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
}

/** The ratio of the last figure to the first one. */
export function growthOf(figures) {
  return figures.at(-1) / figures[0];
}

/** Rows of `{ name, sizes, figures, growth }` as text. */
export function formatTable(title, rows) {
  const sizes = rows[0].sizes;
  const width = Math.max(...rows.map(({ name }) => name.length));
  const line = (name, cells, last) =>
    `${name.padEnd(width)}${cells.map((cell) => String(cell).padStart(9)).join("")}${last.padStart(9)}`;
  const body = rows.map(({ name, figures, growth }) =>
    line(
      name,
      figures.map((us) => us.toFixed(us < 10 ? 1 : 0)),
      `${growth.toFixed(1)}x`,
    ),
  );
  return [title, line("", sizes, "growth"), ...body, ""].join("\n");
}

/** Microseconds of CPU time for each size, as bars. */
export function formatPlot(title, sizes, figures, growth) {
  const most = Math.max(...figures);
  const bars = sizes.map((size, i) => {
    const bar = "#".repeat(Math.max(1, Math.round((figures[i] / most) * 50)));
    return `${size.toLocaleString("en").padStart(10)}  ${figures[i].toFixed(1).padStart(7)} us  ${bar}`;
  });
  return [`${title} (growth ${growth.toFixed(1)}x)`, ...bars, ""].join("\n");
}
