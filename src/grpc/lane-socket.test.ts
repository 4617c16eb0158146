import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LaneSocket } from "./lane-socket.ts";
import { PREFIX_BYTES, StatusCode } from "./protocol/index.ts";

let directory: string;
let server: Server;
let ends: [Socket, Socket];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "lane-"));
  server = createServer();
  const path = join(directory, "s");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  ends = [connect(path), await accepted];
});

afterEach(async () => {
  for (const end of ends) end.destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

function framed(text: string): Buffer {
  return Buffer.concat([Buffer.alloc(PREFIX_BYTES), Buffer.from(text)]);
}

/** Both ends of a lane; `heard` lists the messages that arrived at the second one. */
function lane(maxMessageBytes = 1024) {
  const heard: string[] = [];
  const closed = vi.fn();
  const written = vi.fn();
  const near = new LaneSocket(ends[0], { message: () => undefined, written, closed: vi.fn() }, maxMessageBytes);
  const far = new LaneSocket(
    ends[1],
    { message: (buffer, start, end) => heard.push(buffer.toString("utf8", start, end)), closed },
    maxMessageBytes,
  );
  return { near, far, heard, closed, written };
}

describe("LaneSocket", () => {
  it("carries messages in order and says when they have gone out", async () => {
    const { near, heard, written } = lane();
    near.sendText("ticket");
    near.send(framed("one"));
    near.send(framed(""));
    near.send(framed("two"));
    await vi.waitFor(() => expect(heard).toEqual(["ticket", "one", "", "two"]));
    await near.flushed();
    await vi.waitFor(() => expect(written).toHaveBeenLastCalledWith(0));
  });

  it("delivers nothing while it is paused", async () => {
    const { near, far, heard } = lane();
    far.pause();
    near.send(framed("one"));
    await near.flushed();
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([]);
    far.resume();
    await vi.waitFor(() => expect(heard).toEqual(["one"]));
  });

  it("sends the rest before it closes, and tells the other end once", async () => {
    const { near, heard, closed } = lane(1024 * 1024);
    const large = "x".repeat(500_000);
    near.send(framed(large));
    near.send(framed("last"));
    near.close();
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(heard).toEqual([large, "last"]);
    expect(closed).toHaveBeenCalledWith(undefined);
  });

  it("ends with the reason when a message is larger than it takes", async () => {
    const { near, closed } = lane(8);
    near.send(framed("nine bytes"));
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(closed).toHaveBeenCalledWith(expect.objectContaining({ code: StatusCode.RESOURCE_EXHAUSTED }));
  });

  it("tells nobody when this side destroyed it", async () => {
    const { far, closed } = lane();
    far.destroy();
    await vi.waitFor(() => expect(ends[0].closed).toBe(true));
    expect(closed).not.toHaveBeenCalled();
  });
});
