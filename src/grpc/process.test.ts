import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ChannelError, frameMessage, GrpcChannel, GrpcServer, type GrpcStatus, StatusCode } from "./index.ts";

const INDEX = new URL("./index.ts", import.meta.url).href;
const children: ChildProcess[] = [];
const closers: (() => unknown)[] = [];
let path: string;

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "grpc-"));
  path = join(directory, "s");
  closers.push(() => rm(directory, { recursive: true }));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    }
  }
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Runs a module that has `GrpcChannel`, `GrpcServer`, `frameMessage` and the socket's `path`; `output` collects its stdout. */
function run(body: string): { child: ChildProcess; output: () => string; exit: Promise<number | null> } {
  const source = `import { GrpcChannel, GrpcServer, frameMessage } from ${JSON.stringify(INDEX)};
    const path = ${JSON.stringify(path)};
    ${body}`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let text = "";
  child.stdout?.on("data", (data: Buffer) => {
    text += data.toString();
  });
  const exit = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  return { child, output: () => text, exit };
}

async function serve(): Promise<GrpcServer> {
  const server = new GrpcServer();
  server.addStream("/test/Hang", (stream) =>
    stream.handle({ message: () => void stream.send(frameMessage(Buffer.alloc(1))) }),
  );
  server.addUnary("/test/Echo", (request) => request);
  await server.listen({ path });
  closers.push(() => server.close());
  return server;
}

const HANG = `
  const server = new GrpcServer();
  server.addStream("/test/Hang", (stream) => stream.handle({ message: () => stream.send(frameMessage(new Uint8Array(1))) }));
  await server.listen({ path });
  console.log("listening");`;

describe("a process with an open channel", () => {
  it("exits when the channel is unreferenced, although a stream is open", async () => {
    await serve();
    const { exit, output } = run(`
      const channel = new GrpcChannel("unix:" + path);
      await channel.connect();
      const stream = channel.openStream("/test/Hang", { message() { console.log("running"); channel.unref(); }, status() {} });
      stream.send(frameMessage(new Uint8Array(1)));`);
    expect(await exit).toBe(0);
    expect(output()).toBe("running\n");
  });

  it("exits when the channel was unreferenced before it connected", async () => {
    await serve();
    const { exit } = run(`
      const channel = new GrpcChannel("unix:" + path);
      channel.unref();
      channel.connect().catch(() => {});`);
    expect(await exit).toBe(0);
  });

  it("stays alive while the channel is referenced, and ends with it", async () => {
    const server = await serve();
    const { exit, output, child } = run(`
      const channel = new GrpcChannel("unix:" + path, { onClose: () => console.log("closed") });
      channel.unref();
      channel.ref();
      await channel.connect();
      process.once("beforeExit", () => console.log("beforeExit"));
      setImmediate(() => setImmediate(() => console.log("idle")));`);
    await vi.waitFor(() => expect(output()).toContain("idle"), { timeout: 20_000 });
    expect(child.exitCode).toBeNull();
    expect(output()).not.toContain("beforeExit");
    await server.close();
    expect(await exit).toBe(0);
    expect(output()).toBe("idle\nclosed\nbeforeExit\n");
  });

  it("has no handle left after channel and server are closed", async () => {
    const { exit, output } = run(`
      const before = process.getActiveResourcesInfo().filter((name) => name !== "Immediate").toSorted();
      const server = new GrpcServer();
      server.addStream("/test/Hang", (stream) => stream.handle({ message() { stream.send(frameMessage(new Uint8Array(1))); } }));
      await server.listen({ path });
      const channel = new GrpcChannel("unix:" + path);
      await channel.connect();
      await new Promise((resolve) => {
        const stream = channel.openStream("/test/Hang", { message: resolve, status() {} });
        stream.send(frameMessage(new Uint8Array(1)));
      });
      await channel.close();
      await server.close({ graceMs: 60_000 });
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const after = process.getActiveResourcesInfo().filter((name) => name !== "Immediate").toSorted();
      console.log(JSON.stringify({ before, after }));`);
    expect(await exit).toBe(0);
    const { before, after } = JSON.parse(output());
    expect(after).toEqual(before);
  });
});

describe("keepalive", () => {
  it("notices a server that is stopped, and one that is alive it leaves alone", async () => {
    const { child, output } = run(HANG);
    await vi.waitFor(() => expect(output()).toContain("listening"), { timeout: 20_000 });
    let reason: ChannelError | undefined;
    const channel = new GrpcChannel(`unix:${path}`, {
      keepaliveInterval: 20,
      keepaliveTimeout: 200,
      onClose: (error) => {
        reason = error;
      },
    });
    closers.push(() => channel.close());
    await channel.connect();
    let answers = 0;
    const status = new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream("/test/Hang", { message: () => void answers++, status: resolve });
      stream.send(frameMessage(Buffer.alloc(1)));
    });
    await vi.waitFor(() => expect(answers).toBe(1), { timeout: 20_000 });
    expect(reason).toBeUndefined();
    child.kill("SIGSTOP");
    expect((await status).code).toBe(StatusCode.UNAVAILABLE);
    expect(reason).toMatchObject({ kind: "timeout", connected: true, code: StatusCode.UNAVAILABLE });
    expect(channel.state).toBe("closed");
  });

  it("does not take a pause of this process for one of the server", async () => {
    const { output } = run(HANG);
    await vi.waitFor(() => expect(output()).toContain("listening"), { timeout: 20_000 });
    const reasons: ChannelError[] = [];
    const channel = new GrpcChannel(`unix:${path}`, {
      keepaliveInterval: 10,
      keepaliveTimeout: 50,
      onClose: (error) => reasons.push(error),
    });
    closers.push(() => channel.close());
    await channel.connect();
    for (let turn = 0; turn < 10; turn++) {
      // Long enough that PING and timeout are both due when the event loop continues.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 70);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(reasons).toEqual([]);
  });
});
