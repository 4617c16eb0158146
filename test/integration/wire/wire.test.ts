import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, routine, type WorkerMetadata, WorkerPool } from "wool-ts";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
} from "../../../src/gen/grpc/health/v1/health_pb.ts";
import * as reflectionV1 from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import * as reflectionV1Alpha from "../../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { IdleRequestSchema, StopRequestSchema, Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { isRunning } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { hello } from "../../support/wire-requests.ts";
import { openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;
let worker: WorkerMetadata;
let client: GrpcWorker;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wool-wire-"));
  pool = await WorkerPool.start({ size: 1 });
  worker = onlyWorker(pool);
  client = new GrpcWorker(worker.address);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await pool.stop();
  await rm(folder, { recursive: true });
});

const waitAt = routine(async (door: string) => {
  await waitAtDoor(door);
  return "through";
});
const open = routine(async (door: string) => openDoor(door));
const block = routine(async (file: string) => {
  while (!existsSync(file));
});

function onlyWorker(of: WorkerPool): WorkerMetadata {
  const [found] = of.workers.values();
  if (found === undefined) throw new Error("the pool has no worker");
  return found;
}

async function idleSeconds(of: GrpcWorker = client): Promise<number> {
  return (await of.call(Worker.method.idle, create(IdleRequestSchema))).seconds;
}

describe("Idle", () => {
  test("tells the seconds since the last task, and 0 while one runs", async () => {
    const running = pool.dispatch(waitAt, "idle");
    await until(async () => (await idleSeconds()) === 0, "the task runs");
    await pool.dispatch(open, "idle");
    await running;
    await until(async () => (await idleSeconds()) > 0, "the worker is idle");
  });

  test("and health answer while a task blocks its thread", async () => {
    const file = join(folder, "unblock");
    const blocked = pool.dispatch(block, file);
    await until(async () => (await idleSeconds()) === 0, "the task runs");
    const answer = await client.call(Health.method.check, create(HealthCheckRequestSchema));
    expect(answer.status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    writeFileSync(file, "");
    await blocked;
  });
});

describe("Stop", () => {
  test("with 0 cancels what runs and ends the process", async () => {
    await using own = await WorkerPool.start({ size: 1 });
    const target = onlyWorker(own);
    using grpc = new GrpcWorker(target.address);
    const untilTold = routine(async () => await once(currentTask()?.signal as AbortSignal, "abort"));
    const running = own.dispatch(untilTold).catch((error: unknown) => error);
    await until(async () => (await idleSeconds(grpc)) === 0, "the task runs");
    await grpc.call(Worker.method.stop, create(StopRequestSchema, { timeoutMs: 0n }));
    await until(() => !isRunning(target.pid), "the process has ended");
    expect(await running).toBeInstanceOf(Error);
  });

  test("with a negative time lets tasks end first, and takes no new ones meanwhile", async () => {
    await using own = await WorkerPool.start({ size: 1 });
    const target = onlyWorker(own);
    using grpc = new GrpcWorker(target.address);
    const file = join(folder, "last-task");
    const last = routine(async (path: string) => {
      while (!existsSync(path)) await new Promise((resolve) => setImmediate(resolve));
      return "finished";
    });
    const running = own.dispatch(last, file);
    await until(async () => (await idleSeconds(grpc)) === 0, "the task runs");
    await grpc.call(Worker.method.stop, create(StopRequestSchema, { timeoutMs: -1n }));
    const late = grpc.open(Worker.method.dispatch);
    late.send(hello());
    expect((await late.ended).code).toBe(status.UNAVAILABLE);
    expect(isRunning(target.pid)).toBe(true);
    writeFileSync(file, "");
    expect(await running).toBe("finished");
    await until(() => !isRunning(target.pid), "the process has ended");
  });
});

describe("standard services", () => {
  test("health knows the server and the service, and no other", async () => {
    for (const service of ["", "wool.v1.Worker"]) {
      const answer = await client.call(Health.method.check, create(HealthCheckRequestSchema, { service }));
      expect(answer.status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    }
    const unknown = client.call(Health.method.check, create(HealthCheckRequestSchema, { service: "nobody" }));
    await expect(unknown).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  test.each([
    ["v1", reflectionV1],
    ["v1alpha", reflectionV1Alpha],
  ])("reflection %s lists the services and describes them", async (_name, reflection) => {
    const { ServerReflection, ServerReflectionRequestSchema } = reflection as typeof reflectionV1;
    const stream = client.open(ServerReflection.method.serverReflectionInfo);
    const ask = (messageRequest: reflectionV1.ServerReflectionRequest["messageRequest"]): void =>
      stream.send(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })));
    ask({ case: "listServices", value: "" });
    const { messageResponse: listed } = await stream.message(0);
    const names = listed.case === "listServicesResponse" ? listed.value.service.map(({ name }) => name) : [];
    expect(names).toEqual(expect.arrayContaining(["wool.v1.Worker", "grpc.health.v1.Health"]));
    ask({ case: "fileContainingSymbol", value: "wool.v1.Worker" });
    const { messageResponse: described } = await stream.message(1);
    const files = described.case === "fileDescriptorResponse" ? described.value.fileDescriptorProto : [];
    const services = files.flatMap((file) => fromBinary(FileDescriptorProtoSchema, file).service);
    const found = services.find(({ name }) => name === "Worker");
    expect(found?.method.map(({ name }) => name)).toEqual(["Dispatch", "Stop", "Idle", "Describe"]);
    stream.halfClose();
    expect((await stream.ended).code).toBe(status.OK);
  });

  test("methods that are not there are unimplemented", async () => {
    const missing = { ...Worker.method.idle, name: "Missing" };
    await expect(client.call(missing, create(IdleRequestSchema))).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

test("a TCP worker speaks the same", async () => {
  await using own = await WorkerPool.start({ size: 1, workerOptions: { host: "127.0.0.1" } });
  using grpc = new GrpcWorker(onlyWorker(own).address);
  expect(await idleSeconds(grpc)).toBeGreaterThanOrEqual(0);
  const session = grpc.open(Worker.method.dispatch);
  session.send(hello());
  expect((await session.message(0)).welcome?.workerUid).toBe(onlyWorker(own).uid);
  session.cancel();
});
