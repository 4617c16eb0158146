import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LocalWorker } from "wool-ts";
import { type Response, Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { RoutineSpec } from "../../../src/routine/routine-spec.ts";
import { decode, encode } from "../../../src/values/index.ts";
import { BatchWriter } from "../../../src/wire/batch-writer.ts";
import { SentDependencies } from "../../../src/wire/dependency-ledger.ts";
import { RequestField } from "../../../src/wire/fields.ts";
import { writeCredit, writeRoute, writeTask } from "../../../src/wire/request-frames.ts";
import { type GrpcStream, GrpcWorker } from "../../support/grpc-worker.ts";
import { hello } from "../../support/wire-requests.ts";

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

const slow = new RoutineSpec(
  async (n: number) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    return n + 1;
  },
  {},
  false,
);
const large = new RoutineSpec(async (size: number) => "x".repeat(size), {}, false);
const endless = new RoutineSpec(
  async function* () {
    for (let i = 0; ; i++) yield i;
  },
  {},
  false,
);

/** Sends a task of a routine in a session of its own, then says that nothing more is sent. */
function ask(spec: RoutineSpec, args: readonly unknown[], steps = 0): GrpcStream<Response> {
  const session = client.open(Worker.method.dispatch);
  session.send(hello());
  const writer = new BatchWriter(0);
  const { code, dependencies, fresh } = spec.route();
  const needs = new SentDependencies().announce(writer, RequestField.dependency, dependencies);
  const { name, streams, method } = spec;
  writeRoute(writer, { number: 1, name, code, needs, streams, method, fresh, replaces: 0 });
  writeTask(writer, 0, 1, { bytes: encode(args) }, 0, {});
  if (steps > 0) writeCredit(writer, 0, steps);
  session.send(writer.take());
  session.halfClose();
  return session;
}

test("a task that runs when its session is half-closed ends, and its result comes before the end of the call", async () => {
  const session = ask(slow, [1]);
  expect((await session.ended).code).toBe(status.OK);
  const results = session.received.flatMap(({ results }) => results);
  expect(results.map(({ value }) => decode(Buffer.from(value ?? [])))).toEqual([2]);
});

test("also a result that is sent in pieces arrives whole", async () => {
  const session = ask(large, [5_000_000]);
  expect((await session.ended).code).toBe(status.OK);
  const bytes = session.received.flatMap(({ chunks }) => chunks).reduce((sum, { data }) => sum + data.length, 0);
  expect(bytes).toBeGreaterThanOrEqual(5_000_000);
  expect(session.received.flatMap(({ results }) => results)).toHaveLength(1);
});

test("a generator gives what it was asked for, and is not waited for beyond that", async () => {
  const session = ask(endless, [], 3);
  expect((await session.ended).code).toBe(status.OK);
  expect(session.received.flatMap(({ yielded }) => yielded)).toHaveLength(3);
});
