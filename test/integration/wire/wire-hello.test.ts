import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LocalWorker } from "wool-ts";
import { Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { hello, request } from "../../support/wire-requests.ts";

const worker = new LocalWorker();
let client: GrpcWorker;

beforeAll(async () => {
  await worker.start();
  client = new GrpcWorker(worker.address ?? "");
});
afterAll(async () => {
  client[Symbol.dispose]();
  await worker.stop();
});

test.each([
  ["a task", request({ tasks: [{ id: 1, route: 1 }] })],
  ["another hello", hello()],
  ["what is no frame", Buffer.from([0x12, 0xff, 0xff, 0xff])],
])("a hello is refused together with %s", async (_name, more) => {
  const session = client.open(Worker.method.dispatch);
  session.send(Buffer.concat([hello(), more]));
  const { code, details } = await session.ended;
  expect([code, details]).toEqual([status.INVALID_ARGUMENT, "a hello must be alone in its message"]);
  expect(session.received).toEqual([]);
});

test("a hello is welcome together with what the worker does not know", async () => {
  const session = client.open(Worker.method.dispatch);
  session.send(Buffer.concat([hello(), Buffer.from([0xfa, 0x3e, 0x01, 0x00])]));
  expect((await session.message(0)).welcome?.workerUid).toBe(worker.uid);
  session.cancel();
});

test.each([
  ["by itself", hello()],
  ["among others", Buffer.concat([request({ credits: [{ id: 1, steps: 1 }] }), hello()])],
])("a second hello, %s, is refused", async (_name, second) => {
  const session = client.open(Worker.method.dispatch);
  session.send(hello());
  await session.message(0);
  session.send(second);
  const { code, details } = await session.ended;
  expect(code).toBe(status.INVALID_ARGUMENT);
  expect(details).toContain("a hello is allowed only in the first message of a session");
});
