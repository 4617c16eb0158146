import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LinkVigil } from "./link-vigil.ts";

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
  const vigil = new LinkVigil(
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
  return { changes, connection, vigil };
}

describe("a worker without calls", () => {
  it("is not watched", () => {
    const { connection, vigil } = setUp();
    vi.advanceTimersByTime(LONG_MS);
    expect([connection.pings, vi.getTimerCount()]).toEqual([0, 0]);
    vigil.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    vigil.busy = false;
    vi.advanceTimersByTime(LONG_MS);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a worker with calls", () => {
  it("that says something is not asked", () => {
    const { changes, connection, vigil } = setUp();
    vigil.busy = true;
    for (let i = 0; i < 100; i++) {
      connection.messages++;
      vi.advanceTimersByTime(400);
    }
    expect([connection.pings, changes]).toEqual([0, []]);
  });

  it("that says nothing is asked, and left alone as long as it answers", () => {
    const { changes, connection, vigil } = setUp();
    vigil.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    expect(connection.pings).toBeGreaterThan(1);
    expect(changes).toEqual([]);
  });

  it("that does not answer does not respond, until it does", () => {
    const { changes, connection, vigil } = setUp();
    connection.answers = false;
    vigil.busy = true;
    vi.advanceTimersByTime(LONG_MS);
    expect(changes).toEqual([false]);
    vigil.busy = false;
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
      const { changes, connection, vigil } = setUp();
      connection.answers = false;
      vigil.busy = true;
      vi.advanceTimersByTime(2500);
      expect(changes).toEqual([false]);
      revive(connection);
      vi.advanceTimersByTime(500);
      expect(changes).toEqual([false, true]);
      vigil.close();
    }
  });

  it("is not watched any more when the connection is closed", () => {
    const { changes, connection, vigil } = setUp();
    connection.answers = false;
    vigil.busy = true;
    vi.advanceTimersByTime(600);
    vigil.close();
    connection.last();
    vi.advanceTimersByTime(LONG_MS);
    expect([changes, vi.getTimerCount()]).toEqual([[], 0]);
  });
});
