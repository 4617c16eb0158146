import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LinkWatchdog } from "./link-watchdog.ts";

const LONG_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const changes: boolean[] = [];
  const connection = { messages: 0, answers: true, pings: 0, last: () => undefined as void };
  const watchdog = new LinkWatchdog(
    {
      messages: () => connection.messages,
      ping(answered) {
        connection.pings++;
        connection.last = answered;
        if (connection.answers) answered();
      },
    },
    (responds) => changes.push(responds),
  );
  return { changes, connection, watchdog };
}

describe("a worker without calls", () => {
  it("is not watched", () => {
    const { connection, watchdog } = setUp();
    vi.advanceTimersByTime(LONG_MS);
    expect([connection.pings, vi.getTimerCount()]).toEqual([0, 0]);
    watchdog.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    watchdog.busy = false;
    vi.advanceTimersByTime(LONG_MS);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a worker with calls", () => {
  it("that says something is not asked", () => {
    const { changes, connection, watchdog } = setUp();
    watchdog.busy = true;
    for (let i = 0; i < 100; i++) {
      connection.messages++;
      vi.advanceTimersByTime(400);
    }
    expect([connection.pings, changes]).toEqual([0, []]);
  });

  it("that says nothing is asked, and left alone as long as it answers", () => {
    const { changes, connection, watchdog } = setUp();
    watchdog.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    expect(connection.pings).toBeGreaterThan(1);
    expect(changes).toEqual([]);
  });

  it("that does not answer does not respond, until it does", () => {
    const { changes, connection, watchdog } = setUp();
    connection.answers = false;
    watchdog.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    expect(changes).toEqual([false]);
    watchdog.busy = false;
    vi.advanceTimersByTime(LONG_MS);
    expect(changes).toEqual([false]);
    connection.answers = true;
    vi.advanceTimersByTime(LONG_MS);
    expect(changes).toEqual([false, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("responds again when it says something by itself, or answers late", () => {
    for (const revive of [
      (connection: ReturnType<typeof setUp>["connection"]) => void connection.messages++,
      (connection: ReturnType<typeof setUp>["connection"]) => connection.last(),
    ]) {
      const { changes, connection, watchdog } = setUp();
      connection.answers = false;
      watchdog.busy = true;
      vi.advanceTimersByTime(2500);
      expect(changes).toEqual([false]);
      revive(connection);
      vi.advanceTimersByTime(500);
      expect(changes).toEqual([false, true]);
      watchdog.close();
    }
  });

  it("is not watched any more when the connection is closed", () => {
    const { changes, connection, watchdog } = setUp();
    connection.answers = false;
    watchdog.busy = true;
    vi.advanceTimersByTime(600);
    watchdog.close();
    connection.last();
    vi.advanceTimersByTime(LONG_MS);
    expect([changes, vi.getTimerCount()]).toEqual([[], 0]);
  });
});
