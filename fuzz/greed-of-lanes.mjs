/** Greed of callers that send straight to a task thread. */

import { announcement, chunk, credit, MIB, mb, pause, repeated, sum, task } from "./greedy-caller.mjs";
import { message } from "./http2-frames.mjs";
import { connectLane, welcomed } from "./lanes.mjs";

/** A session with a lane. Its results are read, unless it is `deaf`. */
async function enter(path, deaf = false) {
  const { session, lane } = await welcomed(path);
  const socket = await connectLane(lane.path, deaf);
  socket.write(message(lane.ticket));
  socket.write(message(announcement));
  return { socket, path: lane.path, end: () => session.destroy() };
}

/** Writes pieces until the worker reads no more. Returns how many it read. */
async function pour(socket, count, make, patienceMs = 2000) {
  for (let i = 0; i < count; i++) {
    if (socket.destroyed) return i;
    if (socket.write(make(i))) continue;
    const drained = await new Promise((resolve) => {
      const settle = (isDrained) => {
        clearTimeout(timer);
        socket.off("drain", done).off("close", gone);
        resolve(isDrained);
      };
      const done = () => settle(true);
      const gone = () => settle(false);
      const timer = setTimeout(gone, patienceMs);
      socket.once("drain", done).once("close", gone);
    });
    if (!drained) return i;
  }
  return count;
}

export const laneAttacks = {
  "lanes: results nobody reads, of sessions that come and go": async ({ path, share }) => {
    const left = [];
    for (let round = 0; round < 60 * share; round++) {
      const { socket, end } = await enter(path, true);
      left.push(socket);
      await pour(socket, 1, () => message(repeated(800, (i) => task(i, "bytes", [62_000]))));
      await pause(30);
      // Ends the session but keeps the lane open.
      end();
    }
    await pause(500);
    for (const socket of left) socket.destroy();
    return [undefined, `${left.length} sessions with 50 MB`];
  },
  "lanes: 5 million empty messages": async ({ path, share }) => {
    const { socket, end } = await enter(path);
    const thousand = repeated(1000, () => message(Buffer.alloc(0)));
    const sent = await pour(socket, 5000 * share, () => thousand);
    end();
    return [undefined, `${sent * 1000} messages`];
  },
  "lanes: calls in messages of their own": async ({ path, share }) => {
    const sessions = await Promise.all(Array.from({ length: 50 }, () => enter(path)));
    const calls = repeated(1000, (i) => message(task(i, "bytes", [1])));
    const until = performance.now() + 5000 * share;
    const sent = await Promise.all(
      sessions.map(({ socket }) => pour(socket, 1e6, () => (performance.now() < until ? calls : Buffer.alloc(0)), 500)),
    );
    for (const { end } of sessions) end();
    return [undefined, `${sum(sent.map((count) => Math.min(count, 1e5)))} thousand calls`];
  },
  "lanes: a generator with endless credit": async ({ path }) => {
    const { socket, end } = await enter(path, true);
    await pour(socket, 1, () => message(Buffer.concat([task(0, "endless", [10_000]), credit(0, 900_000)])));
    await pause(3000);
    end();
    return [undefined, "900,000 steps of 10 kB"];
  },
  "lanes: a payload never finished": async ({ path, share }) => {
    const { socket, end } = await enter(path);
    const piece = Buffer.alloc(250_000);
    const sent = await pour(socket, 1040 * share, () => message(chunk(0, piece, 268_000_000)));
    await pause(500);
    end();
    return [undefined, `${mb(sent * piece.length)} in pieces`];
  },
  "lanes: messages of 60 MB without an end, in 50 sessions": async ({ path, share }) => {
    const sessions = await Promise.all(Array.from({ length: 50 }, () => enter(path)));
    const piece = Buffer.alloc(256 * 1024);
    const sent = await Promise.all(
      sessions.map(({ socket }) => {
        socket.write(message(Buffer.alloc(0), 63 * MIB));
        return pour(socket, 240 * share, () => piece);
      }),
    );
    await pause(500);
    for (const { end } of sessions) end();
    return [undefined, mb(sum(sent) * piece.length)];
  },
  "lanes: 30,000 connections that say nothing": async ({ path, share }) => {
    const { path: at, end } = await enter(path);
    const open = new Set();
    const count = 30_000 * share;
    for (let i = 0; i < count; i++) {
      const socket = await connectLane(at);
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    }
    for (const socket of open) socket.destroy();
    end();
    return [undefined, `${count} connections`];
  },
};
