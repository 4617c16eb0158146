import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LocalWorker, type WorkerLimits } from "wool-ts";
import { RawSession } from "../../support/raw-session.ts";
import { until } from "../../support/until.ts";

const [DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ENHANCE_YOUR_CALM] = ["4", "8", 11];
const CALL = {
  ":method": "POST",
  ":path": "/wool.v1.Worker/Dispatch",
  "content-type": "application/grpc",
  te: "trailers",
};
const workers: LocalWorker[] = [];

async function addressOf(limits: WorkerLimits): Promise<string> {
  const worker = new LocalWorker({ limits });
  workers.push(worker);
  await worker.start();
  return worker.address ?? "";
}

function socketTo(address: string): Socket {
  return connect(address.slice("unix:".length)).on("error", () => undefined);
}

function sessionTo(address: string): ClientHttp2Session {
  const session = connectHttp2("http://localhost", { createConnection: () => socketTo(address) });
  return session.on("error", () => undefined);
}

/** How a call ends that sends no message: its gRPC status, or the code of its reset. */
async function endOf(session: ClientHttp2Session, fields: Record<string, string> = {}): Promise<unknown> {
  const stream = session.request({ ...CALL, ...fields });
  let status: unknown;
  stream.on("response", (headers) => (status = headers["grpc-status"] ?? status));
  stream.on("trailers", (headers) => (status = headers["grpc-status"] ?? status));
  stream.on("error", () => undefined);
  stream.resume();
  await new Promise((resolve) => stream.once("close", resolve));
  return status ?? stream.rstCode;
}

let impatient = "";
beforeAll(async () => {
  impatient = await addressOf({ handshakeTimeout: 50, requestTimeout: 60, idleTimeout: 70, maxMetadataBytes: 1000 });
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
});

test("handshakeTimeout: a connection that says nothing is closed", async () => {
  const socket = socketTo(impatient);
  await until(() => socket.destroyed || socket.readableEnded || socket.resume().closed, "it is closed");
});

test("idleTimeout: a connection without a call is closed", async () => {
  const session = sessionTo(impatient);
  await new Promise((resolve) => session.once("connect", resolve));
  await until(() => session.closed, "it is closed");
});

test("requestTimeout: a call without a message ends", async () => {
  const session = sessionTo(impatient);
  expect(await endOf(session)).toBe(DEADLINE_EXCEEDED);
  session.destroy();
});

test("maxMetadataBytes: a call with more of it ends, and its connection goes on", async () => {
  const session = sessionTo(impatient);
  expect([RESOURCE_EXHAUSTED, ENHANCE_YOUR_CALM]).toContain(await endOf(session, { "x-much": "m".repeat(2000) }));
  // The next call on it comes to the worker.
  expect(await endOf(session)).toBe(DEADLINE_EXCEEDED);
  session.destroy();
});

test("maxConnections: one more connection is dropped, and the first goes on", async () => {
  const address = await addressOf({ maxConnections: 1 });
  using first = new RawSession(address);
  first.read();
  await until(() => first.received !== "", "the first is welcomed");
  const second = socketTo(address).resume();
  await until(() => second.closed, "the second is dropped");
  using another = first.another();
  another.read();
  await until(() => another.received !== "", "the first goes on");
});
