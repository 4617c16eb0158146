import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  events,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  TaskTimeout,
  UnexpectedResponse,
  WorkerPool,
  WorkerProxy,
  type WorkerProxyOptions,
} from "wool-ts";
import { contentHash } from "../../../src/functions/index.ts";
import { ResponseSchema } from "../../../src/gen/wool/v1/worker_pb.ts";
import { frameMessage, GrpcServer, type ServerStream } from "../../../src/grpc/index.ts";
import { encode } from "../../../src/values/index.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const add = routine(async (x: number, y: number) => x + y);
const count = routine(async function* () {
  yield 1;
});

let folder: string;
let server: GrpcServer;
let good: LocalWorker;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "wool-hostile-"));
  good = new LocalWorker();
  await good.start();
});
afterEach(async () => {
  await server.close();
  await good.stop();
  rmSync(folder, { recursive: true });
});

const response = (init: MessageInitShape<typeof ResponseSchema>): Uint8Array =>
  toBinary(ResponseSchema, create(ResponseSchema, init));
const welcome = (lanes = 1): Uint8Array => response({ welcome: { version: 1, workerUid: "hostile", lanes } });

/** Listens as a worker would, welcomes callers, and answers each further message as `answer` says. */
async function hostile(answer: (stream: ServerStream) => Iterable<Uint8Array>, greeting = welcome()): Promise<string> {
  server = new GrpcServer();
  server.addStream("/wool.v1.Worker/Dispatch", (stream) => {
    let greeted = false;
    const send = (bytes: Uint8Array): void => void stream.send(frameMessage(bytes));
    stream.handle({
      message: () => {
        if (greeted) {
          for (const bytes of answer(stream)) send(bytes);
        } else send(greeting);
        greeted = true;
      },
    });
  });
  const { path } = await server.listen({ path: join(folder, "s") });
  return `unix:${path}`;
}

function proxyTo(address: string, options: Partial<WorkerProxyOptions> = {}): WorkerProxy {
  return new WorkerProxy({ workers: [{ ...metadata(), uid: "hostile", address }], ...options });
}

function metadata(): NonNullable<LocalWorker["metadata"]> {
  if (good.metadata === undefined) throw new Error("the worker was not started");
  return good.metadata;
}

/** Whatever the hostile worker did, this process goes on and uses others. */
async function expectUnharmed(): Promise<void> {
  await using proxy = new WorkerProxy({ workers: [metadata()] });
  expect(await proxy.dispatch(add, 1, 2)).toBe(3);
}

/** More code than a caller takes that takes a thousand pieces, and then an answer. */
function* manyPieces(): Iterable<Uint8Array> {
  for (let i = 0; i < 1500; i++) {
    yield response({ dependencies: [{ number: i, hash: contentHash("{}"), data: Buffer.from("{}") }] });
  }
  yield response({ results: [{ id: 0, value: Buffer.from(encode(3)) }] });
}

test("limits of a proxy hold for its workers, and other proxies have others", async () => {
  const address = await hostile(manyPieces);
  {
    await using narrow = proxyTo(address, { limits: { maxAnnouncements: 1000 } });
    expect(String(await reasonOf(narrow.dispatch(add, 1, 2)))).toContain("limits.maxAnnouncements");
  }
  await using wide = proxyTo(address, { limits: { maxAnnouncements: 2000 } });
  expect(await wide.dispatch(add, 1, 2)).toBe(3);
});

test("limits of a pool hold for its workers", async () => {
  const worker = { ...metadata(), uid: "hostile", address: await hostile(manyPieces) };
  await using pool = await WorkerPool.start({
    discovery: new StaticDiscovery([worker]),
    limits: { maxAnnouncements: 1000 },
  });
  expect(String(await reasonOf(pool.dispatch(add, 1, 2)))).toContain("limits.maxAnnouncements");
});

describe("a caller gives up, and evicts, a worker that", () => {
  test.each([
    [
      "speaks another version",
      response({ welcome: { version: 9, workerUid: "w", lanes: 1 } }),
      "VersionMismatch",
      /speaks protocol version 9, and this caller 1/,
    ],
    ["speaks no version", response({ welcome: { workerUid: "w", lanes: 1 } }), "VersionMismatch", /protocol version 0/],
    ["begins with another frame", response({ paces: [{ taskUs: 1 }] }), "RpcError", /first message is not a welcome/],
    ["begins with an empty message", new Uint8Array(0), "RpcError", /first message is not a welcome/],
  ])("%s", async (_name, greeting, name, reason) => {
    await using proxy = proxyTo(await hostile(() => [], greeting));
    const error = await reasonOf(proxy.dispatch(add, 1, 2));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    const [cause] = (error as NoWorkersAvailable).errors;
    expect(cause?.name).toBe(name);
    expect(cause?.message).toMatch(reason);
  });
});

describe("a caller is not harmed by a worker that", () => {
  test.each([2 ** 32 - 1, 100_000])("says that it has %i task threads", async (lanes) => {
    await using proxy = proxyTo(await hostile(() => [], welcome(lanes)));
    const reasons: string[] = [];
    using _events = events.on("worker-evicted", ({ reason }) => reasons.push(String(reason)));
    expect(await reasonOf(proxy.dispatch(add, 1, 2))).toBeInstanceOf(NoWorkersAvailable);
    await until(() => reasons.length > 0, "the worker is evicted");
    expect(reasons.join()).toContain(`claims to have ${lanes} task threads`);
    await expectUnharmed();
  });

  test("gives calls back without end", async () => {
    let messages = 0;
    const address = await hostile(() => {
      messages++;
      return [response({ executorsLost: [{ reason: "have it back", taken: 1n }] })];
    });
    await using proxy = proxyTo(address);
    expect(String(await reasonOf(proxy.dispatch(add, 1, 2)))).toContain("have it back");
    expect(messages).toBe(4);
    await expectUnharmed();
  });

  test("sends values that nobody asked for", async () => {
    const value = Buffer.from(encode(1));
    const flood = response({ yielded: Array.from({ length: 10_000 }, () => ({ id: 0, value })) });
    await using proxy = proxyTo(await hostile(() => Array.from({ length: 20 }, () => flood)));
    const stream = proxy.dispatch(count);
    expect(await stream.next()).toEqual({ done: false, value: 1 });
    const seen: unknown[] = [];
    const reason = await reasonOf(
      (async () => {
        for await (const each of stream) seen.push(each);
      })(),
    );
    expect(reason).toBeInstanceOf(UnexpectedResponse);
    expect(String(reason)).toContain("than were asked for");
    expect(seen.length).toBeLessThan(3);
    await expectUnharmed();
  });

  test.each([
    [
      "pieces of a payload without an end",
      { maxUnfinishedBytes: 4_000_000 },
      () =>
        Array.from({ length: 100 }, () =>
          response({ chunks: [{ id: 0, data: Buffer.alloc(100_000), total: 900_000_000n }] }),
        ),
    ],
    [
      "code without an end",
      { maxAnnouncements: 1000 },
      () =>
        Array.from({ length: 2000 }, (_, i) =>
          response({ dependencies: [{ number: i, hash: contentHash("{}"), data: Buffer.from("{}") }] }),
        ),
    ],
    [
      "code under the hash of other code",
      {},
      () => [
        response({ dependencies: [{ number: 1, hash: contentHash("{}"), data: Buffer.from('{"kind":"code"}') }] }),
      ],
    ],
    ["frames that cannot be read", {}, () => [Buffer.from("ffffffffffffffffffff", "hex")]],
    [
      "a result of a task that is none",
      {},
      () => [response({ results: [{ id: 4_000_000_000, value: Buffer.alloc(1) }] }), Buffer.from([0xff])],
    ],
    ["a payload that is none", {}, () => [response({ results: [{ id: 0, value: Buffer.alloc(500, 0xee) }] })]],
    [
      "a payload in a file of its choice",
      {},
      () => [response({ results: [{ id: 0, chunked: 100_000n, file: "../../../etc/passwd" }] })],
    ],
  ])("sends %s", async (_name, limits, answer) => {
    await using proxy = proxyTo(await hostile(answer), { limits });
    const reason = await reasonOf(proxy.dispatch(add, 1, 2));
    expect(reason).toBeInstanceOf(Error);
    await expectUnharmed();
  });
});

describe("a caller is not harmed by a worker whose lane", () => {
  let lane: Server;
  let connections: Socket[];
  afterEach(async () => {
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => lane.close(resolve));
  });

  /** Offers a lane of that name. Whoever listens at `lane` in its directory does what `talk` says. */
  async function offering(laneSocket: string, talk: (socket: Socket) => void): Promise<WorkerProxy> {
    connections = [];
    lane = createServer((socket) => {
      connections.push(socket);
      socket.on("error", () => undefined);
      talk(socket);
    });
    await new Promise<void>((resolve) => lane.listen(join(folder, "lane"), resolve));
    const result = [response({ results: [{ id: 0, value: Buffer.from(encode(3)) }] })];
    const greeting = response({
      welcome: { version: 1, workerUid: "hostile", lanes: 1, laneSocket, laneTicket: "ticket" },
    });
    return proxyTo(await hostile(() => result, greeting));
  }

  test.each(["../../lane", "/lane", "sub/lane", "", ".", "..", "none", "a\0b", "x".repeat(200)])(
    "is elsewhere or nowhere: %j. It is not connected to, and the stream is used",
    async (name) => {
      await using proxy = await offering(name, () => undefined);
      expect(await proxy.dispatch(add, 1, 2)).toBe(3);
      expect(connections).toEqual([]);
      await expectUnharmed();
    },
  );

  test("never answers: the call ends with its timeout", async () => {
    await using proxy = await offering("lane", (socket) => socket.resume());
    expect(await reasonOf(proxy.dispatch(add.with({ timeout: 200 }), 1, 2))).toBeInstanceOf(TaskTimeout);
    await expectUnharmed();
  });

  test.each([
    ["talks nonsense", (socket: Socket) => socket.write(Buffer.alloc(100, 0xff))],
    ["has frames that cannot be read", (socket: Socket) => socket.write(Buffer.from("00000000020a7f", "hex"))],
    ["claims to send 4 GB", (socket: Socket) => socket.write(Buffer.from([0, 255, 255, 255, 255, 1]))],
    ["is closed at once", (socket: Socket) => socket.destroy()],
    ["ends inside of a message", (socket: Socket) => socket.end(Buffer.from([0, 0, 0, 1, 0, 7]))],
  ])("%s: the call fails", async (_what, talk) => {
    await using proxy = await offering("lane", (socket) => {
      socket.once("data", () => talk(socket));
      socket.resume();
    });
    expect(await reasonOf(proxy.dispatch(add, 1, 2))).toBeInstanceOf(Error);
    expect(connections.length).toBeGreaterThan(0);
    await expectUnharmed();
  });
});
