// A picture of the Mandelbrot set, drawn by this process alone and then by a pool of workers, and an estimate that
// comes from the workers as a stream. The routines are the functions below; the workers have never seen this file.
import { availableParallelism } from "node:os";
import { routine, WorkerPool } from "wool-ts";
import { Dashboard } from "./demo/dashboard.mjs";
import { EstimateView } from "./demo/estimate-view.mjs";
import { merge } from "./demo/merge.mjs";
import { Picture } from "./demo/picture.mjs";
import { Terminal } from "./demo/terminal.mjs";

const WORKERS = Math.min(8, Math.max(2, availableParallelism()));
const ONE_PROCESS_MS = 4_500;
const ESTIMATE_MS = 3_000;

const view = { x: -0.7436, y: 0.1318, width: 0.0085, limit: 1_200 };

/** How long the point c = (x, y) stays near 0, as a smooth number; 0 when it never leaves. */
function escapeTime(x, y, limit) {
  let zx = 0;
  let zy = 0;
  for (let i = 1; i <= limit; i++) {
    const nextX = zx * zx - zy * zy + x;
    zy = 2 * zx * zy + y;
    zx = nextX;
    const square = zx * zx + zy * zy;
    if (square > 256) return i + 4 - Math.log2(Math.log2(square));
  }
  return 0;
}

/** Red, green and blue of an escape time. */
function colour(time) {
  if (time === 0) return [6, 6, 16];
  const phase = Math.log2(time) * 1.35 - 5.2;
  return [0.02, 0.12, 0.26].map((shift) => 255 * (0.52 + 0.48 * Math.cos(6.2832 * (phase * 0.42 + shift))));
}

// What a worker runs: this function, with `view`, `escapeTime` and `colour`, which it uses.
const drawTile = routine(async ({ tile, detail }) => {
  const scale = view.width / tile.pictureWidth;
  const pixels = new Uint8Array(tile.width * tile.height * 3);
  for (let row = 0; row < tile.height; row++) {
    for (let column = 0; column < tile.width; column++) {
      const sum = [0, 0, 0];
      for (let sample = 0; sample < detail * detail; sample++) {
        const dx = ((sample % detail) + 0.5) / detail;
        const dy = (Math.floor(sample / detail) + 0.5) / detail;
        const x = view.x + (tile.left + column + dx - tile.pictureWidth / 2) * scale;
        const y = view.y + (tile.top + row + dy - tile.pictureHeight / 2) * scale;
        const [red, green, blue] = colour(escapeTime(x, y, view.limit));
        sum[0] += red;
        sum[1] += green;
        sum[2] += blue;
      }
      pixels.set(sum.map((value) => value / detail ** 2), (row * tile.width + column) * 3);
    }
  }
  return { index: tile.index, pixels, pid: process.pid };
});

// A stream: points thrown at random, how many of them lie in the set, again and again for as long as someone asks.
const throwPoints = routine(async function* (seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const isInside = (x, y) => {
    const q = (x - 0.25) ** 2 + y * y;
    if (q * (q + x - 0.25) <= (y * y) / 4 || (x + 1) ** 2 + y * y <= 1 / 16) return true;
    return escapeTime(x, y, 5_000) === 0;
  };
  while (true) {
    let points = 0;
    let inside = 0;
    for (const end = performance.now() + 60; performance.now() < end; points += 1_000) {
      for (let i = 0; i < 1_000; i++) if (isInside(random() * 2.5 - 2, random() * 1.2)) inside++;
    }
    yield { points, inside, box: 2 * 2.5 * 1.2 };
  }
});

/** The finest detail with which this process needs about `ONE_PROCESS_MS` for all tiles. */
async function chooseDetail(tiles) {
  for (let detail = 2; ; detail *= 2) {
    const began = performance.now();
    for (const tile of tiles) await drawTile.local({ tile, detail });
    const elapsed = performance.now() - began;
    if (elapsed > 100) return Math.max(1, Math.floor(detail * Math.sqrt(ONE_PROCESS_MS / elapsed)));
  }
}

async function main(terminal) {
  const picture = new Picture(terminal.pictureSize);
  const dashboard = new Dashboard(terminal, picture, WORKERS);
  dashboard.say("looking how fast this machine is");
  const detail = await chooseDetail(picture.tiles);
  const jobs = picture.tiles.map((tile) => ({ tile, detail }));

  dashboard.say(`this process draws alone, ${detail * detail} points for each pixel`);
  const alone = dashboard.startRun("one process");
  for (const job of jobs) {
    alone.tileDone(await drawTile.local(job));
    await dashboard.breathe();
  }
  alone.end();
  const drawnAlone = picture.pixels.slice();

  dashboard.say(`starting ${WORKERS} workers`);
  await dashboard.breathe();
  const began = performance.now();
  const pool = await WorkerPool.start({ size: WORKERS });
  const startMs = performance.now() - began;
  try {
    picture.dim();
    dashboard.say(`${WORKERS} workers draw the same tiles`);
    const together = dashboard.startRun(`${WORKERS} workers`);
    for await (const done of pool.map(drawTile, jobs, { ordered: false })) together.tileDone(done);
    together.end();
    dashboard.finish();

    const estimate = await estimateArea(terminal);
    return { alone: alone.elapsed, together: together.elapsed, startMs, same: picture.holds(drawnAlone), estimate };
  } finally {
    await pool.stop();
  }
}

/** A stream from each worker; leaving the loop ends them all. */
async function estimateArea(terminal) {
  const estimateView = new EstimateView(terminal, WORKERS);
  const streams = Array.from({ length: WORKERS }, (_, i) => throwPoints(0x9e37_79b9 * (i + 1)));
  const end = performance.now() + ESTIMATE_MS;
  for await (const batch of merge(streams)) {
    estimateView.add(batch);
    if (performance.now() > end) break;
  }
  estimateView.finish();
  return estimateView.estimate;
}

function summarize({ alone, together, startMs, same, estimate }) {
  const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
  const times = (ratio) => `${ratio.toFixed(2)}x`;
  return [
    `one process ${seconds(alone)}, ${WORKERS} workers ${seconds(together)}: ${times(alone / together)} as fast`,
    `(${times(alone / (together + startMs))} with the ${seconds(startMs)} in which the workers started)`,
    same ? "both pictures are the same, byte for byte" : "THE PICTURES DIFFER",
    `area of the set: ${estimate.area.toFixed(4)} ± ${estimate.error.toFixed(4)} after ${estimate.points.toLocaleString("en-US")} points`,
  ];
}

const terminal = new Terminal(process.stdout);
try {
  const result = await main(terminal);
  terminal.print(["", ...summarize(result)]);
  if (!result.same) process.exitCode = 1;
} finally {
  terminal.close();
}
