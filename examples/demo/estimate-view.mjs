const CHART_ROWS = 9;
const CHART_RANGE = 0.024;
const PLAIN_LINE_MS = 700;
/** Twice the standard error: about 95 of 100 such intervals hold the truth. */
const CONFIDENCE = 2;
/** The best known value of the area of the Mandelbrot set. */
const KNOWN_AREA = 1.50659;

/** The second act on the screen: an estimate that gets better with each item of the streams. */
export class EstimateView {
  #terminal;
  #title;
  #points = 0;
  #inside = 0;
  #box = 0;
  #history = [];
  #lastPlainLine = 0;

  constructor(terminal, workers) {
    this.#terminal = terminal;
    this.#title = `area of the set, from ${workers} streams`;
    if (!terminal.isLive) terminal.print([this.#title]);
  }

  get estimate() {
    const share = this.#inside / this.#points;
    const error = CONFIDENCE * this.#box * Math.sqrt((share * (1 - share)) / this.#points);
    return { area: this.#box * share, error };
  }

  add({ points, inside, box }) {
    this.#points += points;
    this.#inside += inside;
    this.#box = box;
    this.#history.push(this.estimate);
    if (this.#terminal.isLive) this.#draw();
    else this.#printProgress();
  }

  finish() {
    this.#draw();
    this.#terminal.keep();
  }

  #printProgress() {
    const now = performance.now();
    if (now - this.#lastPlainLine < PLAIN_LINE_MS) return;
    this.#lastPlainLine = now;
    this.#terminal.print([`  ${this.#text()}`]);
  }

  #text() {
    const { area, error } = this.estimate;
    return `${area.toFixed(4)} ± ${error.toFixed(4)}, ${(this.#points / 1e6).toFixed(2)} million points`;
  }

  #draw() {
    const { columns } = this.#terminal;
    const shown = thinOut(this.#history, columns - 10);
    const chart = Array.from({ length: CHART_ROWS }, (_, row) => {
      const level = (CHART_ROWS - 1) / 2 - row;
      const label = level === 0 ? KNOWN_AREA.toFixed(4) : "";
      return ` ${label.padStart(6)} ${shown.map((estimate) => this.#mark(estimate, level)).join("")}`;
    });
    const title = this.#terminal.bold(` ${this.#title}`.slice(0, columns - 1));
    this.#terminal.draw(["", title, ...chart, ` ${this.#text()}`.slice(0, columns - 1)]);
  }

  /** What an estimate shows in a row of the chart: the estimate, its margin of error, the known area, or nothing. */
  #mark({ area, error }, level) {
    const rowsPerUnit = CHART_ROWS / CHART_RANGE;
    const height = (area - KNOWN_AREA) * rowsPerUnit;
    if (Math.round(height) === level) return this.#terminal.paint("●", [255, 196, 84]);
    if (Math.abs(height - level) <= error * rowsPerUnit) return this.#terminal.paint("│", [110, 140, 220]);
    return level === 0 ? this.#terminal.faint("─") : " ";
  }
}

/** At most `count` items, evenly spaced, including the last one. */
function thinOut(items, count) {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]);
}
