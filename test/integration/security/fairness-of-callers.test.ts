import { type ClientHttp2Session, connect } from "node:http2";
import { createConnection } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { LocalWorker, type WorkerOptions } from "wool-ts";
import { contentHash } from "../../../src/functions/index.ts";
import { encode } from "../../../src/values/index.ts";
import { announce, task } from "../../support/announce.ts";
import { TestAuthority } from "../../support/certificates.ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { openLane, RawLaneSession } from "../../support/raw-lane.ts";
import { RawSession } from "../../support/raw-session.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

/** A session of a caller. */
interface CallerSession extends Disposable {
  readonly receivedBytes: number;
  read(): void;
  send(message: Uint8Array): boolean;
}

/** Opens sessions of a caller. */
type Open = (count: number, caller: "greedy" | "polite") => Promise<CallerSession[]>;

const SESSIONS = 50;
const BYTES = 100;
/** What a connection of a caller may have to send, in megabytes. */
const MEMORY_MB = 1000;
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function start(options: WorkerOptions): Promise<string> {
  const worker = new LocalWorker(options);
  cleanUps.push(() => worker.stop());
  await worker.start();
  return worker.address ?? "";
}

/** A connection with any number of sessions. */
function sessionsOn(connection: ClientHttp2Session, count: number): RawSession[] {
  connection.on("error", () => undefined).setMaxListeners(SESSIONS + 1);
  cleanUps.push(() => connection.destroy());
  return Array.from({ length: count }, () => new RawSession("", 0, connection));
}

/** Connections with four sessions each, all with the same certificate of the caller. */
async function overTls(): Promise<Open> {
  const authority = new TestAuthority();
  const address = await start({ host: "127.0.0.1", credentials: authority.worker() });
  const issued = {
    greedy: authority.authority.issue({ role: "client", names: ["greedy.example"] }),
    polite: authority.authority.issue({ role: "client", names: ["polite.example"] }),
  };
  return async (count, caller) => {
    const connections = Array.from({ length: Math.ceil(count / 4) }, () =>
      connect(`https://${address}`, { ca: authority.authority.cert, ...issued[caller], maxSessionMemory: MEMORY_MB }),
    );
    return connections.flatMap((connection) => sessionsOn(connection, Math.min(count, 4)));
  };
}

/** A connection with as many sessions as there are. */
async function onOneConnection(): Promise<Open> {
  const address = await start({ limits: { maxSessions: SESSIONS } });
  const path = address.slice("unix:".length);
  return async (count) =>
    sessionsOn(
      connect("http://localhost", { createConnection: () => createConnection(path), maxSessionMemory: MEMORY_MB }),
      count,
    );
}

/** The same, with a lane for each session. */
async function throughLanes(): Promise<Open> {
  const address = await start({ limits: { maxSessions: SESSIONS } });
  return async (count) => {
    // Each has a connection of its own.
    const client = new GrpcWorker(address, { "grpc.use_local_subchannel_pool": 1 });
    const opened = await Promise.all(Array.from({ length: count }, () => openLane(client, address)));
    const sessions = opened.map((lane) => new RawLaneSession(client, lane));
    cleanUps.push(() => sessions.forEach((session) => session[Symbol.dispose]()));
    return sessions;
  };
}

/** Blocks its thread for a fifth of a millisecond. */
const burn = (size: number): Uint8Array => {
  const end = performance.now() + 0.2;
  while (performance.now() < end);
  return new Uint8Array(size);
};
const burnInSteps = function* (size: number): Generator<Uint8Array> {
  for (;;) {
    const end = performance.now() + 0.2;
    while (performance.now() < end);
    yield new Uint8Array(size);
  }
};

function receivedBy(sessions: readonly CallerSession[]): number {
  return sessions.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0);
}

/** How many results greedy sessions have while the polite one waits for all of its own. */
async function resultsBesides(greedy: readonly CallerSession[], polite: CallerSession, count: number): Promise<number> {
  const [before, had] = [receivedBy(greedy), polite.receivedBytes];
  await until(() => polite.receivedBytes - had > count * BYTES, "the polite caller has everything");
  return (receivedBy(greedy) - before) / BYTES;
}

const POLITE = 300;
/** Each has as many turns as the other; results say a little more than their bytes, and do not come evenly. */
const MOST = 4 * POLITE;

/** How a caller has its sessions, and how many sockets those 50 have. */
const ways: [string, number, () => Promise<Open>][] = [
  ["with one certificate", 13, overTls],
  ["on one connection", 1, onOneConnection],
  ["on one connection, through lanes", SESSIONS, throughLanes],
];

describe.each(ways)("a caller with 50 sessions %s, against one with one session", (_name, sockets, prepare) => {
  async function sessions(): Promise<{ greedy: CallerSession[]; polite: CallerSession }> {
    const open = await prepare();
    const greedy = await open(SESSIONS, "greedy");
    const [polite] = await open(1, "polite");
    if (polite === undefined) throw new Error("there is no session");
    for (const session of [...greedy, polite]) session.read();
    return { greedy, polite };
  }

  test("has no more turns with its calls", async () => {
    const { greedy, polite } = await sessions();
    const tasks = Buffer.concat(Array.from({ length: 2000 }, (_, i) => task(i, [BYTES])));
    for (const session of greedy) {
      session.send(announce(burn));
      session.send(tasks);
    }
    await until(() => greedy.every(({ receivedBytes }) => receivedBytes > BYTES), "all are being served");
    polite.send(announce(burn));
    polite.send(Buffer.concat(Array.from({ length: POLITE }, (_, i) => task(i, [BYTES]))));
    expect(await resultsBesides(greedy, polite, POLITE)).toBeLessThan(MOST);
  });

  test("has no more turns with its streams", async () => {
    const { greedy, polite } = await sessions();
    for (const session of greedy) {
      session.send(announce(burnInSteps));
      for (let id = 0; id < 10; id++) {
        session.send(task(id, [BYTES]));
        session.send(request({ credits: [{ id, steps: 900_000 }] }));
      }
    }
    await until(() => greedy.every(({ receivedBytes }) => receivedBytes > BYTES), "all are being served");
    polite.send(announce(burnInSteps));
    polite.send(task(0, [BYTES]));
    polite.send(request({ credits: [{ id: 0, steps: POLITE + 10 }] }));
    expect(await resultsBesides(greedy, polite, POLITE)).toBeLessThan(MOST);
  });

  test("has no more turns with its tasks when their code comes, or what they share", async () => {
    const { greedy, polite } = await sessions();
    const value = Buffer.from(encode("shared"));
    for (const session of greedy) {
      session.send(announce(burn));
      const about = { kind: "shared", bytes: value.length, inner: [] };
      const data = Buffer.from(JSON.stringify(about));
      session.send(request({ dependencies: [{ number: 9, hash: contentHash(value), data }] }));
      const args = Buffer.from(encode([BYTES]));
      const waiting = Array.from({ length: 2000 }, (_, id) =>
        request({ tasks: [{ id, route: 1, args, needs: [9], sequence: BigInt(id + 1) }] }),
      );
      session.send(Buffer.concat(waiting));
      session.send(request({ shared: [{ number: 9, value }] }));
    }
    await until(() => receivedBy(greedy) > 10 * BYTES, "the greedy caller is being served");
    polite.send(announce(burn));
    polite.send(Buffer.concat(Array.from({ length: POLITE }, (_, i) => task(i, [BYTES]))));
    expect(await resultsBesides(greedy, polite, POLITE)).toBeLessThan(MOST);
  });

  test("has no more bytes read than its sockets are", async () => {
    const { greedy, polite } = await sessions();
    const args = Buffer.from(encode([new Uint8Array(1_000_000)]));
    const send = (session: CallerSession, id: number): boolean =>
      session.send(request({ tasks: [{ id, route: 1, args, sequence: BigInt(id + 1) }] }));
    const echo = (bytes: Uint8Array): Uint8Array => bytes;
    for (const session of greedy) {
      session.send(announce(echo));
      for (let id = 0; id < 8; id++) send(session, id);
    }
    await until(() => receivedBy(greedy) > args.length, "the greedy caller is being served");
    polite.send(announce(echo));
    const before = receivedBy(greedy);
    for (let id = 0; id < 3; id++) send(polite, id);
    await until(() => polite.receivedBytes > 3 * args.length, "the polite caller has everything");
    // The worker has a message of each session when the polite one comes.
    expect((receivedBy(greedy) - before) / args.length).toBeLessThan(SESSIONS + 2 * 3 * sockets);
  });
});
