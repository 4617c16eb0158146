import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type GrpcChannel, type GrpcStatus, type GrpcStreamHandlers, PREFIX_BYTES, StatusCode } from "../grpc/index.ts";
import type { Welcome } from "../wire/index.ts";
import { SessionStream } from "./session-stream.ts";

const GONE: GrpcStatus = { code: StatusCode.UNAVAILABLE, message: "gone" };
const TICKET = "a ticket";

let directory: string;
let server: Server;
const sockets: Socket[] = [];
let accepted: Promise<Socket>;
let worker: GrpcStreamHandlers;
let relayed: string[];
let cancelled: number;
let stream: SessionStream;
let heard: string[];
const ended = vi.fn();
const drain = vi.fn();

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "session-"));
  server = createServer((socket) => sockets.push(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(join(directory, "w.1"), resolve));
  accepted = new Promise((resolve) => server.once("connection", resolve));
  relayed = [];
  heard = [];
  cancelled = 0;
  ended.mockReset();
  drain.mockReset();
  const channel = {
    openStream: (_path: string, handlers: GrpcStreamHandlers) => {
      worker = handlers;
      return { send: (framed: Buffer) => relayed.push(textOf(framed)) > 0, cancel: () => cancelled++ };
    },
  } as unknown as GrpcChannel;
  stream = new SessionStream(channel, `unix:${join(directory, "w.sock")}`, {
    message: (buffer, start, end) => heard.push(buffer.toString("utf8", start, end)),
    drain,
    ended,
  });
});

afterEach(async () => {
  stream.cancel();
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

function textOf(framed: Buffer): string {
  return framed.toString("utf8", PREFIX_BYTES);
}

function framed(text: string): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(PREFIX_BYTES), Buffer.from(text)]);
  bytes.writeUInt32BE(bytes.length - PREFIX_BYTES, 1);
  return bytes;
}

function welcome(laneSocket: string): Welcome {
  return {
    version: 1,
    workerUid: "w",
    lanes: 1,
    maxConcurrency: 0,
    sharesFiles: false,
    laneSocket,
    laneTicket: TICKET,
  };
}

/** Connects to the lane; returns the worker's end. */
async function goDirect(): Promise<Socket> {
  await new Promise<void>((resolve) => stream.useLane(welcome("w.1"), resolve));
  expect(stream.isDirect).toBe(true);
  return accepted;
}

describe("SessionStream", () => {
  it("sends through the lane once it is connected, the ticket first, and past it what has to", async () => {
    const lane = await goDirect();
    let received = "";
    lane.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    stream.send(framed("task"));
    stream.sendBeside(framed("unwanted"));
    await vi.waitFor(() => expect(received).toContain("task"));
    expect(received.slice(PREFIX_BYTES)).toMatch(new RegExp(`^${TICKET}`));
    expect(relayed).toEqual(["unwanted"]);
  });

  it.each(["", "w.2", "../w.1", "/etc/w.1", "a/b"])("goes on with the stream for the lane %j", async (name) => {
    await new Promise<void>((resolve) => stream.useLane(welcome(name), resolve));
    expect(stream.isDirect).toBe(false);
    stream.send(framed("task"));
    expect(relayed).toEqual(["task"]);
    worker.status(GONE);
    expect(ended).toHaveBeenCalledExactlyOnceWith(GONE, true);
  });

  it("reads the rest of the lane when the stream has ended first", async () => {
    const lane = await goDirect();
    worker.status(GONE);
    expect(ended).not.toHaveBeenCalled();
    lane.end(framed("last result"));
    await vi.waitFor(() => expect(ended).toHaveBeenCalledExactlyOnceWith(GONE, true));
    expect(heard).toEqual(["last result"]);
  });

  it("does not wait for ever for a lane that does not end, and says that something may be missing", async () => {
    await goDirect();
    worker.status({ code: StatusCode.ABORTED, message: "all was answered" });
    await vi.waitFor(() => expect(ended).toHaveBeenCalled(), { timeout: 20_000 });
    expect(ended).toHaveBeenCalledExactlyOnceWith({ code: StatusCode.ABORTED, message: "all was answered" }, false);
  }, 30_000);

  it("lets the stream say why the lane has ended", async () => {
    const lane = await goDirect();
    lane.destroy();
    await vi.waitFor(() => expect(stream.isDirect).toBe(false));
    expect(ended).not.toHaveBeenCalled();
    const finished = vi.fn();
    stream.finish(finished);
    expect(finished).toHaveBeenCalledTimes(1);
    worker.status(GONE);
    expect(ended).toHaveBeenCalledExactlyOnceWith(GONE, true);
  });

  it("ends by itself when the stream says nothing of a lane that has ended", async () => {
    const lane = await goDirect();
    lane.destroy();
    await vi.waitFor(() => expect(ended).toHaveBeenCalled(), { timeout: 20_000 });
    expect(ended).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: StatusCode.UNAVAILABLE }), false);
    expect(cancelled).toBe(1);
  }, 30_000);

  it("finishes when the last messages of a lost thread have been read", async () => {
    const lane = await goDirect();
    const order: string[] = [];
    stream.finish(() => order.push("finished"));
    // The status of the same loss changes nothing.
    worker.status(GONE);
    lane.end(framed("last result"));
    await vi.waitFor(() => expect(order).toEqual(["finished"]));
    expect(heard).toEqual(["last result"]);
    expect(ended).not.toHaveBeenCalled();
  });

  it("ends with the fault of what the lane brings", async () => {
    const lane = await goDirect();
    lane.write(Buffer.from([7, 0, 0, 0, 0]));
    await vi.waitFor(() => expect(ended).toHaveBeenCalled());
    expect(ended).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: StatusCode.INTERNAL }), false);
  });

  it("tells nothing after it was cancelled", async () => {
    const lane = await goDirect();
    stream.cancel();
    await new Promise<void>((resolve) => lane.once("close", () => resolve()).resume());
    worker.status(GONE);
    expect(ended).not.toHaveBeenCalled();
  });
});
