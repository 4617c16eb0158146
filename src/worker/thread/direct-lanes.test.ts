import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RawLane } from "../../../test/support/raw-lane.ts";
import { until } from "../../../test/support/until.ts";
import { DirectLanes } from "./direct-lanes.ts";

const LONG_MS = 60_000;
const TICKET = "a ticket";

let path: string;
let lanes: DirectLanes;
let messages: string[];
const callers: RawLane[] = [];

beforeEach(async () => {
  path = join(tmpdir(), `wool-lanes-${randomBytes(6).toString("hex")}.sock`);
  messages = [];
  lanes = new DirectLanes({
    maxMessageBytes: 1000,
    message: (session, buffer, start, end) => messages.push(`${session}: ${buffer.toString("latin1", start, end)}`),
    held: () => () => undefined,
    sent: () => undefined,
    cut: () => undefined,
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  expect(await lanes.listen(path)).toBe(true);
});
afterEach(async () => {
  vi.useRealTimers();
  for (const { socket, closed } of callers.splice(0)) {
    socket.destroy();
    await closed;
  }
  rmSync(path, { force: true });
});

/** A caller whose connection the thread has accepted. */
async function connected(): Promise<RawLane> {
  let accepted = 0;
  const accept = (): void => void accepted++;
  subscribe("net.server.socket", accept);
  const lane = new RawLane(path).read();
  callers.push(lane);
  await until(() => accepted > 0, "the connection is accepted");
  unsubscribe("net.server.socket", accept);
  return lane;
}

describe("the lanes of a task thread", () => {
  it("wait for tickets as long as the thread takes to be ready", async () => {
    const lane = await connected();
    lane.send(Buffer.from(TICKET));
    lane.send(Buffer.from("hello"));
    vi.advanceTimersByTime(LONG_MS);
    lanes.start();
    lanes.expect(TICKET, 7);
    await until(() => messages.length > 0, "the message has come");
    expect(messages).toEqual(["7: hello"]);
    expect(lanes.has(7)).toBe(true);
  });

  it("close connections without a known ticket after a while", async () => {
    lanes.start();
    const lane = await connected();
    lane.send(Buffer.from("another ticket"));
    vi.advanceTimersByTime(LONG_MS);
    await lane.closed;
    expect(messages).toEqual([]);
  });
});
