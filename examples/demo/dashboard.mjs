import { setImmediate as turn } from "node:timers/promises";
import { Run } from "./run.mjs";

const FRAME_MS = 40;
const PANEL_COLUMNS = 28;
const PLAIN_LINES = 4;
const GREY = [170, 170, 180];
/** With more workers than this, two of them share a line. */
const WORKERS_WITH_OWN_LINE = 4;

/** The first act on the screen: the picture, who draws which tile, and how fast. */
export class Dashboard {
  #terminal;
  #picture;
  #runs = [];
  #message = "";
  #lastFrame = 0;

  constructor(terminal, picture) {
    this.#terminal = terminal;
    this.#picture = picture;
  }

  say(message) {
    this.#message = message;
    if (this.#terminal.isLive) this.#draw();
    else this.#terminal.print([message]);
  }

  /** Begins a run through all tiles, drawn by this process or by those of `pids`. Report each tile to the run. */
  startRun(title, pids = []) {
    const run = new Run(title, this.#picture.tiles.length, pids);
    run.onTile = ({ index, pixels }) => {
      this.#picture.place(index, pixels);
      if (!this.#terminal.isLive) this.#printProgress(run);
      else if (performance.now() - this.#lastFrame > FRAME_MS) this.#draw();
    };
    run.onEnd = () => this.#draw();
    this.#runs.push(run);
    return run;
  }

  /** Gives the terminal time to show the drawing while this process computes. */
  async breathe() {
    await turn();
  }

  finish() {
    this.#message = `the same picture twice: ${this.#runs.map(runText).join(", ")}`;
    this.#draw();
    this.#terminal.keep();
  }

  #printProgress(run) {
    if (run.done % Math.ceil(run.total / PLAIN_LINES) !== 0 && run.done !== run.total) return;
    this.#terminal.print([`  ${run.done} of ${run.total} tiles, ${seconds(run)}, ${run.rate.toFixed(1)} tiles/s`]);
  }

  #draw() {
    const terminal = this.#terminal;
    this.#lastFrame = performance.now();
    const picture = this.#picture.lines(terminal);
    const title = terminal.bold(cut(` wool-ts  ${this.#message}`, terminal.columns - 1));
    if (terminal.isWide) {
      const panel = [...this.#runLines(PANEL_COLUMNS), ...this.#mapLines()];
      terminal.draw([title, "", ...picture.map((line, i) => ` ${line}  ${panel[i] ?? ""}`)]);
    } else {
      const body = [...picture, "", ...this.#runLines(terminal.columns - 2)];
      terminal.draw([title, "", ...body.map((line) => ` ${line}`)]);
    }
  }

  /** Progress and speed of each run, and of each worker in it. */
  #runLines(width) {
    return this.#runs.flatMap((run) => [
      cut(`${run.title}  ${seconds(run)}  ${run.rate.toFixed(1)}/s`, width),
      this.#bar(run, width),
      ...this.#workerLines(run),
      ...(this.#terminal.isWide ? [""] : []),
    ]);
  }

  #workerLines(run) {
    const brief = run.shares.size > WORKERS_WITH_OWN_LINE;
    const cells = [...run.shares].map(([pid, { order, tiles, rate }]) => {
      const speed = `${rate.toFixed(1)}/s`;
      const text = brief ? `${tiles} ${speed}`.padEnd(12) : `worker ${order + 1}  ${tiles} tiles  ${speed}`;
      return `${this.#mark(run, pid)} ${text}`;
    });
    if (!brief) return cells;
    return cells.flatMap((cell, i) => (i % 2 === 0 ? [`${cell}${cells[i + 1] ?? ""}`] : []));
  }

  /** A cell for each group of tiles, in the colour of the worker that drew it. */
  #bar(run, width) {
    let bar = "";
    for (let cell = 0; cell < width; cell++) {
      const pid = run.byArrival[Math.floor((cell / width) * run.total)];
      bar += pid === undefined ? this.#terminal.faint("─") : this.#terminal.paint("━", colourOf(run, pid));
    }
    return bar;
  }

  /** The tiles in their places, each in the colour of the worker that drew it. */
  #mapLines() {
    const run = this.#runs.at(-1);
    if (run === undefined || run.shares.size === 0) return [];
    const { tilesAcross, tilesDown } = this.#picture;
    const cellOf = (index) => (index in run.byTile ? this.#mark(run, run.byTile[index]) : this.#terminal.faint("·"));
    return Array.from({ length: tilesDown }, (_, row) =>
      Array.from({ length: tilesAcross }, (_, column) => cellOf(row * tilesAcross + column)).join(" "),
    );
  }

  #mark(run, pid) {
    const sign = this.#terminal.colourDepth === 1 ? String((run.shares.get(pid)?.order ?? 0) + 1) : "■";
    return this.#terminal.paint(sign, colourOf(run, pid));
  }
}

function runText(run) {
  return `${run.title} ${seconds(run)}`;
}

function seconds(run) {
  return `${(run.elapsed / 1000).toFixed(1)} s`;
}

function cut(text, width) {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

function colourOf(run, pid) {
  const share = run.shares.get(pid);
  if (share === undefined) return GREY;
  // Steps of the golden section keep any number of colours apart.
  const hue = 0.08 + share.order * 0.618;
  return [0, 1 / 3, 2 / 3].map((shift) => 255 * (0.62 + 0.38 * Math.cos(2 * Math.PI * (hue - shift))));
}
