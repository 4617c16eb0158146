import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { GrpcServer, Health, StatusCode } from "../index.ts";

let server: GrpcServer;
let health: Health;
let client: grpc.Client;

beforeEach(async () => {
  server = new GrpcServer();
  health = new Health(server);
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
});
afterEach(async () => {
  client.close();
  await server.close();
});

function encode(service: string): Buffer {
  return Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })));
}

function decode(bytes: Buffer): Serving {
  return fromBinary(HealthCheckResponseSchema, bytes).status;
}

function check(service: string): Promise<Serving | undefined> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", encode, decode, service, (error, status) => {
      if (error === null) resolve(status);
      else reject(error);
    });
  });
}

interface Watching {
  readonly seen: Serving[];
  readonly ended: number[];
  readonly call: grpc.ClientReadableStream<Serving>;
}

function watch(service: string): Watching {
  const call = client.makeServerStreamRequest("/grpc.health.v1.Health/Watch", encode, decode, service);
  const watching: Watching = { seen: [], ended: [], call };
  call.on("data", (status: Serving) => watching.seen.push(status));
  call.on("status", ({ code }: grpc.StatusObject) => watching.ended.push(code));
  call.on("error", () => {});
  return watching;
}

describe("Health", () => {
  it("answers Check with the status that was set, of the server as a whole and of a service", async () => {
    expect(await check("")).toBe(Serving.SERVING);
    health.set("wool.v1.Worker", "not-serving");
    expect(await check("wool.v1.Worker")).toBe(Serving.NOT_SERVING);
    health.set("wool.v1.Worker", "unknown");
    expect(await check("wool.v1.Worker")).toBe(Serving.UNKNOWN);
    await expect(check("other")).rejects.toMatchObject({ code: StatusCode.NOT_FOUND });
  });

  it("tells a watcher the status and each change, once", async () => {
    const { seen, call } = watch("");
    await vi.waitFor(() => expect(seen).toEqual([Serving.SERVING]));
    health.set("", "serving");
    health.set("", "not-serving");
    health.set("other", "serving");
    health.set("", "serving");
    await vi.waitFor(() => expect(seen).toEqual([Serving.SERVING, Serving.NOT_SERVING, Serving.SERVING]));
    call.cancel();
  });

  it("tells a watcher of a service that comes later", async () => {
    const { seen, call } = watch("later");
    await vi.waitFor(() => expect(seen).toEqual([Serving.SERVICE_UNKNOWN]));
    health.set("later", "serving");
    await vi.waitFor(() => expect(seen).toEqual([Serving.SERVICE_UNKNOWN, Serving.SERVING]));
    call.cancel();
  });

  it("says not-serving and ends the watches when it is closed, so that the server closes at once", async () => {
    const before = watch("");
    await vi.waitFor(() => expect(before.seen).toHaveLength(1));
    health.close();
    health.set("", "serving");
    await vi.waitFor(() => expect(before.ended).toEqual([StatusCode.UNAVAILABLE]));
    expect(before.seen).toEqual([Serving.SERVING, Serving.NOT_SERVING]);
    expect(await check("")).toBe(Serving.NOT_SERVING);
    const after = watch("");
    await vi.waitFor(() => expect(after.ended).toEqual([StatusCode.UNAVAILABLE]));
    expect(after.seen).toEqual([Serving.NOT_SERVING]);
    client.close();
    await server.close({ graceMs: 60_000 });
  });
});
