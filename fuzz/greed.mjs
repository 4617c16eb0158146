/** Attacks by callers that follow the protocol and use too much memory, time, or both. */
import { laneAttacks } from "./greed-of-lanes.mjs";
import { waitingAttacks } from "./greed-of-waiting.mjs";
import {
  abort,
  chunk,
  credit,
  dependency,
  frame,
  GreedyConnection,
  HEALTH,
  MIB,
  mb,
  pack,
  packedRoute,
  pause,
  pool,
  REFLECTION,
  repeated,
  sum,
  task,
  text,
} from "./greedy-caller.mjs";
import { message } from "./http2-frames.mjs";
import { contentHash } from "./mutate.mjs";
import { bytesField, integerField } from "./protobuf.mjs";

/** Each gets a function that opens connections, and returns what it sent. A short run sends only a `share` of it. */
const attacks = {
  "60,000 results nobody reads": async ({ session, share }) => {
    const stream = session();
    const sent = await stream.pour(60_000 * share, (i) => task(i, "bytes", [62_000]));
    return [stream, `${sent} tasks`];
  },
  "results nobody reads, 90 sessions": async ({ connection, share }) => {
    const shared = connection();
    const streams = Array.from({ length: 90 }, () => shared.open());
    const sent = await Promise.all(
      streams.map((stream) => stream.pour(3000 * share, (i) => task(i, "bytes", [62_000]))),
    );
    return [streams.find(({ status }) => status !== undefined) ?? streams[0], `${sum(sent)} tasks`];
  },
  "a generator with endless credit": async ({ session }) => {
    const stream = session();
    await stream.pour(1, () => Buffer.concat([task(0, "endless", [10_000]), credit(0, 900_000)]));
    await pause(3000);
    return [stream, "900,000 steps of 10 kB"];
  },
  "a payload never finished": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const piece = Buffer.alloc(250_000);
    const sent = await stream.pour(1040 * share, () => chunk(0, piece, 268_000_000));
    await pause(500);
    return [stream, `${mb(sent * piece.length)} in pieces`];
  },
  "payloads never finished, in 50 sessions": async ({ session, share }) => {
    const streams = Array.from({ length: 50 }, session);
    const piece = Buffer.alloc(250_000);
    const sent = await Promise.all(
      streams.map((stream) => stream.pour(200 * share, (i) => chunk(i % 20, piece, 4_000_000))),
    );
    return [streams.find(({ status }) => status !== undefined) ?? streams[0], mb(sum(sent) * piece.length)];
  },
  "messages of 60 MB without an end, in 50 sessions": async ({ session, share }) => {
    const streams = Array.from({ length: 50 }, session);
    const piece = Buffer.alloc(256 * 1024);
    const sent = await Promise.all(
      streams.map(async (stream) => {
        await stream.write(message(Buffer.alloc(0), 63 * MIB));
        let count = 0;
        while (count < 240 * share && (await stream.write(piece))) count++;
        return count;
      }),
    );
    return [streams.find(({ status }) => status !== undefined) ?? streams[0], mb(sum(sent) * piece.length)];
  },
  "44 KB of announced payloads": async ({ session }) => {
    const stream = session();
    stream.read();
    const bytes = repeated(4000, (i) => chunk(i, Buffer.alloc(1), 2 ** 31 - 1));
    await stream.pour(1, () => bytes);
    await pause(500);
    return [stream, `${(bytes.length / 1000).toFixed(0)} kB`];
  },
  pools: async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(18_000 * share, (i) => pool(i + 1, `${i}${"x".repeat(100_000)}`));
    return [stream, `${sent} pools of 100 kB`];
  },
  credits: async ({ session, share }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => repeated(20_000, (i) => task(i, "waits", [])));
    const sent = await stream.pour(1000 * share, (k) => repeated(5000, (i) => credit(i, 1 + (k % 2))));
    return [stream, `${sent * 5000} credits`];
  },
  "early aborts": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(500 * share, (k) => repeated(10_000, (i) => abort(k * 10_000 + i)));
    return [stream, `${sent * 10_000} aborts`];
  },
  "800 KB of early aborts of one task": async ({ session }) => {
    const stream = session();
    stream.read();
    const bytes = repeated(133_000, () => abort(7));
    await stream.pour(1, () => bytes);
    await pause(500);
    return [stream, `${(bytes.length / 1000).toFixed(0)} kB`];
  },
  routes: async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(1000 * share, (k) =>
      repeated(1000, (i) =>
        frame("route", integerField(1, 10 + k * 1000 + i), text(2, "r"), bytesField(3, Buffer.alloc(9))),
      ),
    );
    return [stream, `${sent * 1000} routes`];
  },
  "a million bad dependencies": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(1000 * share, (k) =>
      repeated(1000, (i) => dependency(k * 1000 + i, { kind: "module", specifier: `x${k * 1000 + i}` })),
    );
    return [stream, `${sent * 1000} dependencies`];
  },
  "a list of 60 million needs": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const needs = Buffer.alloc(60_000_000 * share, 1);
    await stream.pour(1, () =>
      Buffer.concat([dependency(1, { kind: "module", specifier: "x" }), task(0, "bytes", [1], bytesField(9, needs))]),
    );
    await pause(1000);
    return [stream, mb(needs.length)];
  },
  "a pack of 60 million calls": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const items = Buffer.alloc(60_000_000 * share, 0);
    await stream.pour(1, () => Buffer.concat([packedRoute, pack(0, Buffer.alloc(0), items)]));
    await pause(1000);
    return [stream, `${items.length} calls`];
  },
  "packs of 90,000 calls": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const calls = 90_000 * share;
    // Arguments that are none: each call throws.
    const [args, items] = [Buffer.alloc(calls, 9), Buffer.alloc(calls, 1)];
    await stream.pour(1, () => packedRoute);
    const sent = await stream.pour(20, (id) => pack(id, args, items));
    await pause(3000);
    return [stream, `${sent * calls} calls`];
  },
  "cancellations, 60 MB in a message": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const bytes = Buffer.alloc(15_000_000 * 4 * share, frame("cancel", integerField(1, 9)));
    const sent = await stream.pour(3, () => bytes);
    await pause(1000);
    return [stream, `${sent} of ${mb(bytes.length)}`];
  },
  "unknown frames, 60 MB in a message": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const bytes = Buffer.alloc(30_000_000 * 2 * share, integerField(15, 1));
    const sent = await stream.pour(3, () => bytes);
    await pause(1000);
    return [stream, `${sent} of ${mb(bytes.length)}`];
  },
  "5 million empty messages": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const thousand = repeated(1000, () => message(Buffer.alloc(0)));
    let sent = 0;
    while (sent < 5000 * share && (await stream.write(thousand))) sent++;
    return [stream, `${sent * 1000} messages`];
  },
  "5 million empty messages at a busy thread": async ({ session, connection, share }) => {
    const busy = session();
    busy.read();
    await busy.pour(1, () => repeated(2000, (i) => task(i, "bytes", [200_000])));
    const streams = Array.from({ length: 10 }, () => connection().open());
    const thousand = repeated(1000, () => message(Buffer.alloc(0)));
    const sent = await Promise.all(
      streams.map(async (stream) => {
        stream.read();
        let count = 0;
        while (count < 500 * share && (await stream.write(thousand))) count++;
        return count;
      }),
    );
    return [streams[0], `${sum(sent) * 1000} messages`];
  },
  "tasks that never end": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(200 * share, (k) => repeated(1000, (i) => task(k * 1000 + i, "stuck", [])));
    return [stream, `${sent * 1000} tasks`];
  },
  "steps a generator does not come to": async ({ session, share }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => task(0, "waits", []));
    const sent = await stream.pour(1000 * share, () =>
      repeated(1000, () => frame("step", integerField(1, 0), integerField(2, 1), text(3, '"value"'))),
    );
    return [stream, `${sent * 1000} steps`];
  },
  "answers about services nobody reads": async ({ connection, share }) => {
    const stream = connection().open(REFLECTION);
    const ask = message(text(4, "wool.v1.Worker"));
    const asks = Buffer.concat(Array.from({ length: 1000 }, () => ask));
    let sent = 0;
    while (sent < 500 * share && (await stream.write(asks))) sent++;
    return [stream, `${sent * 1000} questions`];
  },
  "60 messages of 60 MB without an end": async ({ connection, share }) => {
    const shared = connection();
    const most = 60 * MIB * share;
    const piece = Buffer.alloc(256 * 1024);
    const streams = Array.from({ length: 60 }, () => shared.open(HEALTH));
    const sent = await Promise.all(
      streams.map(async (stream) => {
        let bytes = 0;
        await stream.write(message(Buffer.alloc(0), 63 * MIB));
        while (bytes < most && (await stream.write(piece))) bytes += piece.length;
        return bytes;
      }),
    );
    return [streams[0], mb(sum(sent))];
  },
  "code of callers that come and go": async ({ connection, share }) => {
    let bytes = 0;
    for (let round = 0; round < 20 * share; round++) {
      const one = connection();
      const stream = one.open();
      stream.read();
      await stream.pour(8, (i) => {
        const data = codeWith(`${round} ${i} ${"u".repeat(6_000_000)}`);
        bytes += 6_000_000;
        return dependency(i + 1, data);
      });
      await pause(100);
      one.destroy();
    }
    return [undefined, mb(bytes)];
  },
  "payloads of 260 MB announced by 100 sessions": async ({ session, share }) => {
    const streams = Array.from({ length: 100 * share }, session);
    const piece = Buffer.alloc(2_100_000);
    const sent = await Promise.all(streams.map((stream) => stream.pour(1, () => chunk(0, piece, 260_000_000))));
    await pause(1000);
    return [streams.find(({ status }) => status !== undefined) ?? streams[0], `${sum(sent)} pieces of 2 MB`];
  },
  "200,000 tasks with a time limit": async ({ connection, share }) => {
    const shared = connection();
    const streams = [shared.open(), shared.open()];
    for (const stream of streams) stream.read();
    const sent = await Promise.all(
      streams.map((stream) =>
        stream.pour(99 * share, (k) =>
          repeated(1000, (i) => task(k * 1000 + i, "stuck", [], integerField(5, 2 ** 31 - k * 1000 - i))),
        ),
      ),
    );
    await pause(2000);
    return [streams[0], `${sum(sent) * 1000} tasks`];
  },
  "calls without an end on 900 connections": async ({ connection, share }) => {
    const streams = Array.from({ length: 900 * share }, () => connection().open());
    const calls = repeated(5000, (i) => task(i, "bytes", [1]));
    const end = performance.now() + 6000;
    const sent = await Promise.all(
      streams.map(async (stream) => {
        stream.read();
        let count = 0;
        while (performance.now() < end && (await stream.pour(1, () => calls)) === 1) count++;
        return count;
      }),
    );
    return [undefined, `${sum(sent) * 5000} calls`];
  },
  "sessions opened and closed": async ({ connection, share }) => {
    const shared = connection();
    let opened = 0;
    for (const end = performance.now() + 4000 * share; performance.now() < end && !shared.isClosed; opened++) {
      const stream = shared.open();
      stream.read();
      await stream.pour(1, () => task(0, "stuck", []));
      stream.close();
    }
    return [undefined, `${opened} sessions`];
  },
  "code of 60 MB in a message, never used": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const code = `[${"[],".repeat(20_000_000 * share)}0]`;
    const sent = await stream.pour(4, (i) =>
      frame("dependency", integerField(1, i), text(2, contentHash(code)), text(3, code)),
    );
    return [stream, `${sent} of ${mb(code.length)}`];
  },
  "a pool of 60 MB in a message": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const json = `{"id":"p","version":1,"isComplete":true,"removed":[],"members":[${"[],".repeat(20_000_000 * share)}0]}`;
    const sent = await stream.pour(1, () => frame("pool", integerField(1, 1), text(2, json)));
    return [stream, `${sent} of ${mb(json.length)}`];
  },
  ...waitingAttacks,
  ...laneAttacks,
};

function codeWith(url) {
  return {
    kind: "code",
    form: "expression",
    text: "0",
    isStrict: true,
    slots: [],
    base: "b",
    url,
    file: "",
    line: 0,
    column: 0,
    privateFields: [],
    privateMethods: [],
    privateStatics: [],
    inner: [],
  };
}

export const greedyAttacks = Object.keys(attacks);

/**
 * Runs one of them, or a `share` of it. Returns what was sent, on how many connections, and the worker's status if it
 * hung up.
 */
export async function beGreedy(victim, name, share = 1) {
  const open = [];
  const connection = () => {
    const made = new GreedyConnection(victim.path);
    open.push(made);
    return made;
  };
  const [stream, sent] = await attacks[name]({
    connection,
    session: () => connection().open(),
    path: victim.path,
    share,
  });
  const end = performance.now() + 2000;
  // The worker may still be reading the last messages.
  while (stream !== undefined && !stream.isOver && performance.now() < end) await pause(50);
  for (const each of open) each.destroy();
  return { sent, status: stream?.status, connections: open.length };
}
