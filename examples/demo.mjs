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

const view = { x: -1.250669, y: 0.020121, width: 0.00015, limit: 2_000 };

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

/** Red, green or blue of an escape time, from 0 to 255: the same wave for all three colours, shifted by `shift`. */
function shade(time, shift) {
  if (time === 0) return 8;
  return 127.5 + 127.5 * Math.cos(2 * Math.PI * (Math.log2(time) / 3 + 0.35 + shift));
}

// The routine that workers run: this function, with `view`, `escapeTime` and `shade`, which it uses.
const drawTile = routine(async ({ tile, detail }) => {
  const pixels = new Uint8Array(tile.width * tile.height * 3);
  const step = view.width / tile.pictureWidth / detail;
  const left = view.x + (tile.left - tile.pictureWidth / 2) * detail * step;
  const top = view.y + (tile.top - tile.pictureHeight / 2) * detail * step;
  for (let pixel = 0; pixel < tile.width * tile.height; pixel++) {
    const firstX = left + (pixel % tile.width) * detail * step;
    const firstY = top + Math.floor(pixel / tile.width) * detail * step;
    let red = 0;
    let green = 0;
    let blue = 0;
    for (let i = 0; i < detail; i++) {
      for (let j = 0; j < detail; j++) {
        const time = escapeTime(firstX + j * step, firstY + i * step, view.limit);
        red += shade(time, 0);
        green += shade(time, 0.1);
        blue += shade(time, 0.2);
      }
    }
    pixels[pixel * 3] = red / detail ** 2;
    pixels[pixel * 3 + 1] = green / detail ** 2;
    pixels[pixel * 3 + 2] = blue / detail ** 2;
  }
  return { index: tile.index, pixels, pid: process.pid };
});

// A stream: random points, and how many of them lie in the set, repeatedly for as long as the caller asks.
const throwPoints = routine(async function* (seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const isInside = (x, y) => {
    const q = (x - 0.25) ** 2 + y * y;
    if (q * (q + x - 0.25) <= (y * y) / 4 || (x + 1) ** 2 + y * y <= 1 / 16) return true;
    return escapeTime(x, y, 20_000) === 0;
  };
  for (let goal = 500; ; goal *= 1.2) {
    let points = 0;
    let inside = 0;
    const end = performance.now() + 100;
    while (points < goal && performance.now() < end) {
      for (let i = 0; i < 500; i++) if (isInside(random() * 2.5 - 2, random() * 1.2)) inside++;
      points += 500;
    }
    yield { points, inside, box: 2 * 2.5 * 1.2 };
  }
});

/** The finest detail with which this process takes about `ONE_PROCESS_MS` for all tiles. */
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
  const dashboard = new Dashboard(terminal, picture);
  dashboard.say("measuring how fast this machine is");
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
    const pids = [...pool.workers.values()].map((worker) => worker.pid);
    dashboard.say(`the same again by ${WORKERS} workers, processes ${pids.join(", ")}`);
    const together = dashboard.startRun(`${WORKERS} workers`, pids);
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

function summarize({ alone, together, startMs, same, estimate }, terminal) {
  const line = (what, ms) => ` ${what.padEnd(12)} ${(ms / 1000).toFixed(2)} s  ${(alone / ms).toFixed(2)}x as fast`;
  return [
    "",
    ` one process  ${(alone / 1000).toFixed(2)} s`,
    terminal.bold(line(`${WORKERS} workers`, together)),
    line("  with start", together + startMs),
    same ? " both pictures are equal, byte for byte" : " THE PICTURES DIFFER",
    ` area of the set ${estimate.area.toFixed(4)} ± ${estimate.error.toFixed(4)}`,
  ];
}

const terminal = new Terminal(process.stdout);
try {
  const result = await main(terminal);
  terminal.print(summarize(result, terminal));
  if (!result.same) process.exitCode = 1;
} finally {
  terminal.close();
}
