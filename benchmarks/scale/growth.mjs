/** The median of the microseconds that `work` takes, once for each of `times`. */
export async function timeEach(times, work) {
  const taken = [];
  for (let i = 0; i < times; i++) {
    const from = performance.now();
    await work(i);
    taken.push((performance.now() - from) * 1000);
  }
  taken.sort((a, b) => a - b);
  return taken[Math.floor(taken.length / 2)];
}

/** How many times the last figure is the first one. */
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
