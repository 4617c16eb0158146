import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TransientRpcError, WoolError } from "../errors.ts";
import { GrpcServer, GrpcStatusError, type ServerStream, StatusCode } from "../grpc/index.ts";
import { BatchWriter, writeExecutorLost, writeWelcome } from "../wire/index.ts";
import { WorkerLink } from "./worker-link.ts";

const HEADROOM = 5;
const closed = new Error("the test is over");

let folder: string;
let server: GrpcServer;
let link: WorkerLink | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-link-"));
  server = new GrpcServer();
});
afterEach(async () => {
  link?.close(closed);
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A link to a server that greets callers as `greet` does. */
async function linkTo(greet: (stream: ServerStream) => void, welcomeTimeout?: number): Promise<WorkerLink> {
  server.addStream("/wool.v1.Worker/Dispatch", (stream) => stream.handle({ message: () => greet(stream) }));
  const { path } = await server.listen({ path: join(folder, "s") });
  link = new WorkerLink(`unix:${path}`, { welcomeTimeout });
  return link;
}

function welcome(stream: ServerStream, lanes = 1): void {
  const writer = new BatchWriter(HEADROOM);
  writeWelcome(writer, { version: 1, workerUid: "w", lanes, maxConcurrency: 0, sharesFiles: false });
  stream.send(writer.take());
}

describe("a link to a worker that never welcomes anybody", () => {
  it("is given up after a time, as one to a worker that does not respond", async () => {
    const silent = await linkTo(() => undefined, 40);
    const error = await silent.connect().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransientRpcError);
    expect(String(error)).toContain("did not welcome this caller within 40 ms");
    expect(silent.state).toBe("idle");
  });

  it("is given up, too, when only one of its threads does not", async () => {
    let greeted = 0;
    const half = await linkTo((stream) => {
      if (greeted++ === 0) welcome(stream, 2);
    }, 40);
    await expect(half.connect()).rejects.toThrow("did not welcome this caller within 40 ms");
  });
});

describe("a link to a worker whose threads end all the time", () => {
  it("opens sessions anew, ever less often", async () => {
    const opened: number[] = [];
    const restless = await linkTo((stream) => {
      opened.push(performance.now());
      welcome(stream);
      const writer = new BatchWriter(HEADROOM);
      writeExecutorLost(writer, "gone", 1);
      stream.send(writer.take());
    });
    await restless.connect();
    await vi.waitFor(() => expect(opened.length).toBeGreaterThan(6), { timeout: 20_000 });
    const [, second = 0] = opened;
    // It opens the session at once, and then after 10, 20, 40, 80 and 160 ms. Timers may be late and are never early.
    expect((opened[6] ?? 0) - second).toBeGreaterThan(300);
  });
});

describe("what a link asks a worker", () => {
  it.each([
    ["a worker that does not know the question", undefined, StatusCode.UNIMPLEMENTED],
    ["a worker that fails", new GrpcStatusError(StatusCode.INTERNAL, "broken"), StatusCode.INTERNAL],
    ["a worker that refuses", new GrpcStatusError(StatusCode.PERMISSION_DENIED, "no"), StatusCode.PERMISSION_DENIED],
    ["a worker that throws", new Error("broken"), StatusCode.INTERNAL],
  ])("fails with an error of this package: %s", async (_name, thrown, status) => {
    if (thrown !== undefined) {
      server.addUnary("/wool.v1.Worker/Idle", () => {
        throw thrown;
      });
    }
    const asked = await linkTo(welcome);
    const error = await asked.unary("Idle", new Uint8Array(0), 5000).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WoolError);
    expect(error).toMatchObject({ status });
    expect(String(error)).toContain(asked.address);
  });

  it("fails with one when the worker does not answer in time, or goes away", async () => {
    server.addUnary("/wool.v1.Worker/Idle", () => new Promise(() => undefined));
    const asked = await linkTo(welcome);
    expect(await asked.unary("Idle", new Uint8Array(0), 20).catch((reason: unknown) => reason)).toBeInstanceOf(
      TransientRpcError,
    );
    const lost = asked.unary("Idle", new Uint8Array(0), 60_000).catch((reason: unknown) => reason);
    await server.close();
    expect(await lost).toBeInstanceOf(WoolError);
    expect(await asked.unary("Idle", new Uint8Array(0), 20).catch((reason: unknown) => reason)).toBeInstanceOf(
      WoolError,
    );
  });
});
