const CHART_ROWS = 7;
const CHART_HALF_RANGE = 0.02;
const PLAIN_LINES = 4;
const COLUMN_MS = 60;
/** Twice the standard error: about 95 of 100 such intervals hold the truth. */
const CONFIDENCE = 2;
/** The area of the Mandelbrot set as far as it is known. */
const KNOWN_AREA = 1.50659;

/** The second act on the screen: an estimate that gets better with each item of the streams. */
export class EstimateView {
  #terminal;
  #workers;
  #points = 0;
  #inside = 0;
  #box = 0;
  #began = performance.now();
  #columns = [];
  #lastColumn = 0;
  #plainLines = 0;

  constructor(terminal, workers) {
    this.#terminal = terminal;
    this.#workers = workers;
    if (!terminal.isLive) terminal.print([`${workers} workers stream points: the area of the set`]);
  }

  get estimate() {
    const share = this.#inside / this.#points;
    const error = CONFIDENCE * this.#box * Math.sqrt((share * (1 - share)) / this.#points);
    return { area: this.#box * share, error, points: this.#points };
  }

  add({ points, inside, box }) {
    this.#points += points;
    this.#inside += inside;
    this.#box = box;
    const now = performance.now();
    if (now - this.#lastColumn < COLUMN_MS) return;
    this.#lastColumn = now;
    this.#columns.push(this.estimate);
    this.#draw();
    if (!this.#terminal.isLive && now - this.#began > this.#plainLines * 800 && this.#plainLines < PLAIN_LINES) {
      this.#plainLines++;
      this.#terminal.print([`  ${this.#text()}`]);
    }
  }

  finish() {
    this.#draw();
    this.#terminal.keep();
  }

  #text() {
    const { area, error, points } = this.estimate;
    return `${area.toFixed(4)} ± ${error.toFixed(4)}  ${(points / 1e6).toFixed(1)} million points`;
  }

  #draw() {
    const width = this.#terminal.columns - 12;
    const columns = this.#columns.slice(-width);
    const chart = Array.from({ length: CHART_ROWS }, (_, row) => {
      const height = (CHART_ROWS - 1) / 2 - row;
      const label = height === 0 ? KNOWN_AREA.toFixed(4) : "";
      return ` ${label.padStart(7)} ${columns.map((column) => this.#mark(column, height)).join("")}`;
    });
    this.#terminal.draw([
      "",
      this.#terminal.bold(` the area of the set, streamed by ${this.#workers} workers`.slice(0, this.#terminal.columns - 1)),
      ...chart,
      `         ${this.#text()}`.slice(0, this.#terminal.columns - 1),
    ]);
  }

  #mark({ area, error }, height) {
    const rowsPerUnit = (CHART_ROWS - 1) / 2 / CHART_HALF_RANGE;
    const offset = (area - KNOWN_AREA) * rowsPerUnit;
    if (Math.round(offset) === height) return this.#terminal.paint("●", [255, 196, 84]);
    if (Math.abs(offset - height) <= error * rowsPerUnit) return this.#terminal.paint("│", [110, 140, 220]);
    return height === 0 ? this.#terminal.faint("─") : " ";
  }
}
