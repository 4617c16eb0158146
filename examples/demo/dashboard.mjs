import { setImmediate as turn } from "node:timers/promises";
import { Run } from "./run.mjs";

const FRAME_MS = 40;
const PLAIN_STEPS = 4;

/** The first act on the screen: the picture, who draws what, and how fast. */
export class Dashboard {
  #terminal;
  #picture;
  #workerColours;
  #runs = [];
  #message = "";
  #lastFrame = 0;

  constructor(terminal, picture, workers) {
    this.#terminal = terminal;
    this.#picture = picture;
    this.#workerColours = Array.from({ length: workers }, (_, i) => hue(0.08 + (i * 0.618) % 1));
  }

  say(message) {
    this.#message = message;
    if (!this.#terminal.isLive) this.#terminal.print([message]);
    this.#draw();
  }

  /** Begins a way through all tiles; the returned run is told of each one. */
  startRun(title) {
    const run = new Run(title, this.#picture.tiles.length);
    const quarters = Math.ceil(run.total / PLAIN_STEPS);
    run.onTile = ({ index, pixels }) => {
      this.#picture.place(index, pixels);
      if (performance.now() - this.#lastFrame > FRAME_MS) this.#draw();
      if (!this.#terminal.isLive && (run.done % quarters === 0 || run.done === run.total)) {
        this.#terminal.print([`  ${run.done} of ${run.total} tiles, ${(run.elapsed / 1000).toFixed(2)} s`]);
      }
    };
    run.onEnd = () => this.#draw();
    this.#runs.push(run);
    return run;
  }

  /** Lets the terminal show what was drawn while this process computes. */
  async breathe() {
    await turn();
  }

  finish() {
    this.#draw();
    this.#terminal.keep();
  }

  #draw() {
    this.#lastFrame = performance.now();
    const terminal = this.#terminal;
    if (!terminal.isLive) return;
    const picture = this.#picture.lines(terminal);
    const head = [terminal.bold(cut(` wool-ts  ${this.#message}`, terminal.columns - 1)), ""];
    if (!terminal.isWide) {
      terminal.draw([...head, ...picture.map((line) => ` ${line}`), "", ...this.#runLines(terminal.columns - 2)]);
      return;
    }
    const panel = [...this.#runLines(26), ...this.#mapLines()].slice(0, picture.length);
    terminal.draw([...head, ...picture.map((line, i) => ` ${line}  ${panel[i] ?? ""}`)]);
  }

  /** Progress and speed of each run, and of each worker in it. */
  #runLines(width) {
    const terminal = this.#terminal;
    return this.#runs.flatMap((run) => {
      const figures = `${(run.elapsed / 1000).toFixed(1)} s  ${run.rate.toFixed(1)} tiles/s`;
      const lines = [cut(`${run.title}  ${figures}`, width), this.#bar(run, width)];
      if (run.pids.size > 1 || run.title !== "one process") {
        for (const [pid, { order, tiles, rate }] of run.pids) {
          const text = cut(` ${order + 1} pid ${pid} ${tiles} tiles ${rate.toFixed(1)}/s`, width - 1);
          lines.push(`${terminal.paint("■", this.#workerColours[order])}${text}`);
        }
      }
      return terminal.isWide ? [...lines, ""] : lines;
    });
  }

  /** A cell for each part of the tiles, in the colour of the worker that drew it. */
  #bar(run, width) {
    let bar = "";
    for (let cell = 0; cell < width; cell++) {
      const pid = run.byArrival[Math.floor((cell / width) * run.total)];
      bar += pid === undefined ? this.#terminal.faint("─") : this.#terminal.paint("━", this.#colourOf(run, pid));
    }
    return bar;
  }

  /** The tiles in their places, each in the colour of the worker that drew it. */
  #mapLines() {
    const run = this.#runs.at(-1);
    if (run === undefined || run.title === "one process") return [];
    const { tilesAcross, tilesDown } = this.#picture;
    const rows = Array.from({ length: tilesDown }, (_, row) => {
      let line = "";
      for (let column = 0; column < tilesAcross; column++) {
        const pid = run.byTile[row * tilesAcross + column];
        line += pid === undefined ? this.#terminal.faint("· ") : this.#cell(run, pid);
      }
      return line;
    });
    return ["who drew which tile", ...rows];
  }

  #cell(run, pid) {
    const { order } = run.pids.get(pid);
    return `${this.#terminal.paint(this.#terminal.colourDepth === 1 ? String(order + 1) : "■", this.#workerColours[order])} `;
  }

  #colourOf(run, pid) {
    return run.title === "one process" ? [170, 170, 180] : this.#workerColours[run.pids.get(pid).order];
  }
}

function cut(text, width) {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** A bright colour; `turn` from 0 to 1 goes once around the circle of colours. */
function hue(turn) {
  return [0, 1 / 3, 2 / 3].map((shift) => 255 * (0.62 + 0.38 * Math.cos(2 * Math.PI * (turn - shift))));
}
