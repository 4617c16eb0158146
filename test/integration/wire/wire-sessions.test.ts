import { once } from "node:events";
import { connect } from "node:http2";
import { createConnection } from "node:net";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { routine, type WorkerMetadata, WorkerPool } from "wool-ts";
import { type Response, type TaskSchema, Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { payloadFiles } from "../../../src/host/index.ts";
import { type GrpcStream, GrpcWorker } from "../../support/grpc-worker.ts";
import { poolOf } from "../../support/pool-of.ts";
import { hello, request } from "../../support/wire-requests.ts";

// Properties are tried many times, which takes long on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

let pool: WorkerPool;
let worker: WorkerMetadata;
let client: GrpcWorker;

beforeAll(async () => {
  pool = await poolOf(1);
  const [found] = pool.workers.values();
  if (found === undefined) throw new Error("the pool has no worker");
  worker = found;
  client = new GrpcWorker(worker.address);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await pool.stop();
});

const pid = routine(async () => process.pid);

/** A routine that can be announced, and not run; and then a task of it. */
function brokenTask(task: MessageInitShape<typeof TaskSchema>): Uint8Array {
  const routes = [{ number: 1, name: "broken", code: Buffer.from("no function") }];
  return Buffer.concat([request({ routes }), request({ tasks: [{ route: 1, ...task }] })]);
}

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

async function openSession(through = client): Promise<GrpcStream<Response>> {
  const session = through.open(Worker.method.dispatch);
  session.send(hello());
  await session.message(0);
  return session;
}

/** The worker is the same process as at the start, and takes calls. */
async function expectUnharmed(): Promise<void> {
  expect(await pool.dispatch(pid)).toBe(worker.pid);
}

describe("a session", () => {
  test("is welcomed by the worker it was opened to", async () => {
    const session = client.open(Worker.method.dispatch);
    session.send(hello());
    const { welcome } = await session.message(0);
    expect(welcome).toMatchObject({ version: 1, workerUid: worker.uid, lanes: 1 });
    session.halfClose();
    expect((await session.ended).code).toBe(status.OK);
  });

  test("that was ended for nonsense gets no answers to what came before it, and harms nobody", async () => {
    const connection = connect("http://localhost", {
      createConnection: () => createConnection(worker.address.slice(5)),
    });
    const fields = { "content-type": "application/grpc", te: "trailers" };
    const stream = connection.request({ ":method": "POST", ":path": "/wool.v1.Worker/Dispatch", ...fields });
    stream.write(framed(hello()));
    await once(stream, "data");
    stream.resume();
    const nonsense = Buffer.from([9, 0, 0, 0, 0]);
    stream.write(Buffer.concat([framed(brokenTask({ id: 1 })), framed(brokenTask({ id: 2 })), nonsense]));
    // It keeps its own direction open: the worker waits a moment for it to close that.
    const [trailers] = await once(stream, "trailers");
    expect(Number(trailers["grpc-status"])).not.toBe(status.OK);
    await expectUnharmed();
    connection.destroy();
  });

  test("of a caller that is newer but accepts this version is welcomed, too", async () => {
    const session = client.open(Worker.method.dispatch);
    session.send(hello(99, 1));
    expect((await session.message(0)).welcome?.version).toBe(1);
    session.cancel();
  });

  test.each([
    [99, 99],
    [0, 0],
  ])("of version %i that accepts %i and later is refused with both versions", async (version, minimum) => {
    const session = client.open(Worker.method.dispatch);
    session.send(hello(version, minimum));
    const { code, details } = await session.ended;
    expect(code).toBe(status.FAILED_PRECONDITION);
    expect(details).toMatch(new RegExp(`version ${version}\\b.*speaks 1\\b`));
    expect(session.received).toEqual([]);
  });

  test("of an incompatible version is refused before anything else is read", async () => {
    const session = client.open(Worker.method.dispatch);
    session.send(Buffer.concat([hello(99, 99), Buffer.from([0x12, 0xff, 0xff, 0xff])]));
    expect((await session.ended).code).toBe(status.FAILED_PRECONDITION);
  });

  test.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["garbage", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a truncated hello", hello().subarray(0, -2)],
    ["a length beyond its end", Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0x7f)],
    ["a task instead of a hello", request({ tasks: [{ id: 1, route: 1 }] })],
    ["bytes of 0xff", new Uint8Array(64).fill(0xff)],
  ])("whose first message is %s is refused", async (_name, bytes) => {
    const session = client.open(Worker.method.dispatch);
    session.send(bytes);
    const { code, details } = await session.ended;
    expect(code).toBe(status.FAILED_PRECONDITION);
    expect(details).not.toBe("");
    expect(session.received).toEqual([]);
    await expectUnharmed();
  });

  test("for a task thread that is not there is refused", async () => {
    const session = client.open(Worker.method.dispatch);
    session.send(hello(1, 1, 7));
    const { code, details } = await session.ended;
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(details).toMatch(/lane 7/);
  });

  test("that names a routine nobody announced is told so, and goes on", async () => {
    const session = await openSession();
    session.send(request({ tasks: [{ id: 1, route: 42, sequence: 1n }] }));
    const { rejected } = await session.message(1);
    expect(rejected).toMatchObject([{ id: 1, status: status.INTERNAL }]);
    session.send(request({ tasks: [{ id: 2, route: 43, sequence: 2n }] }));
    expect((await session.message(2)).rejected).toMatchObject([{ id: 2 }]);
    session.cancel();
  });

  test("that announces a routine whose code is garbage gets an error for its task, and goes on", async () => {
    const session = await openSession();
    session.send(brokenTask({ id: 1, sequence: 1n }));
    const answer = await session.message(1);
    expect(answer.raised.length + answer.rejected.length).toBe(1);
    session.send(request({ tasks: [{ id: 2, route: 99, sequence: 2n }] }));
    await session.message(2);
    session.cancel();
    await expectUnharmed();
  });

  test("that steps, cancels and feeds what is not there is not minded", async () => {
    const session = await openSession();
    session.send(
      request({
        steps: [{ id: 9, kind: 1 }],
        cancels: [{ id: 9 }],
        credits: [{ id: 9, steps: 4_000_000_000 }],
        tasks: [{ id: 3, route: 42, sequence: 1n }],
      }),
    );
    expect((await session.message(1)).rejected).toMatchObject([{ id: 3 }]);
    session.cancel();
  });

  test.each<[string, Uint8Array]>([
    ["more of a payload than announced", request({ chunks: [{ id: 1, total: 4n, data: new Uint8Array(5) }] })],
    ["less of a payload than its task says", brokenTask({ id: 1, chunked: 100n })],
    ["a frame that reaches past its message", Uint8Array.of(0x12, 0x7f, 0x08)],
    ["a wire type that does not exist", Uint8Array.of(0x17, 0x01)],
  ])("that sends %s is ended, and nobody else notices", async (_name, bytes) => {
    const other = await openSession();
    const session = await openSession();
    session.send(bytes);
    const { code, details } = await session.ended;
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(details).not.toBe("");
    other.send(request({ tasks: [{ id: 1, route: 42, sequence: 1n }] }));
    await other.message(1);
    other.cancel();
    await expectUnharmed();
  });

  test("that sends a payload larger than memory is ended with all others of its connection, and nobody else notices", async () => {
    using reckless = new GrpcWorker(worker.address, { "grpc.use_local_subchannel_pool": 1 });
    const elsewhere = await openSession();
    const other = await openSession(reckless);
    const session = await openSession(reckless);
    session.send(request({ chunks: [{ id: 1, total: 2n ** 50n, data: new Uint8Array(5) }] }));
    const { code, details } = await session.ended;
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    expect(details).toMatch(/maxUnfinishedBytes/);
    await other.ended;
    await expect(other.message(1)).rejects.toThrow(/the stream ended with (?!OK)/);
    elsewhere.send(request({ tasks: [{ id: 1, route: 42, sequence: 1n }] }));
    await elsewhere.message(1);
    elsewhere.cancel();
    await expectUnharmed();
  });

  test.each([
    ["", "/etc/hostname"],
    [payloadFiles.realm, "/etc/hostname"],
    [payloadFiles.realm, "/dev/shm/wool-0/../../../etc/hostname"],
    [payloadFiles.realm, "hostname"],
  ])("of realm %j that names the file %s for a payload is ended before the file is touched", async (realm, file) => {
    const session = client.open(Worker.method.dispatch);
    session.send(request({ hello: { version: 1, minimumVersion: 1, callerId: "test", fileRealm: realm } }));
    await session.message(0);
    session.send(brokenTask({ id: 1, file, chunked: 5n }));
    const { code, details } = await session.ended;
    expect(code).not.toBe(status.OK);
    expect(details).not.toBe("");
    await expectUnharmed();
  });

  test("that sends anything at all does no harm", async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 40 }).map((tail) => Buffer.concat([hello(), tail])),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 4 }), fc.boolean(), async (messages, greet) => {
        const session = client.open(Worker.method.dispatch);
        if (greet) session.send(hello());
        for (const message of messages) session.send(message);
        session.halfClose();
        await session.ended;
      }),
      { numRuns: 150 },
    );
    await expectUnharmed();
  });
});
