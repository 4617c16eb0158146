import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ThreadBoard } from "../shared/thread-board.ts";
import { ThreadWatchdog } from "./thread-watchdog.ts";

const LONG_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const board = new ThreadBoard();
  const reasons: string[] = [];
  const culprits: unknown[] = [];
  const thread = {
    board,
    posted: 0,
    responds: false,
    ping: (ping: number) => thread.answer(ping),
    answer(ping: number) {
      if (thread.responds) board.answered = ping;
    },
  };
  const watchdog = new ThreadWatchdog(thread, ({ reason, task }) => {
    reasons.push(reason);
    culprits.push(task);
  });
  return { board, culprits, reasons, thread, watchdog };
}

describe("a thread with a task", () => {
  it("is asked every second, and not at all when it has none", () => {
    const { board, reasons, thread, watchdog } = setUp();
    thread.responds = true;
    board.live = 1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.wake();
    vi.advanceTimersByTime(5500);
    expect(board.answered).toBe(5);
    board.live = 0;
    vi.advanceTimersByTime(LONG_MS);
    expect(board.answered).toBe(5);
    expect(reasons).toEqual([]);
  });
});

describe("a thread that does not respond", () => {
  it("is given up when the task that it is in is beyond its timeout", () => {
    const { board, culprits, reasons, watchdog } = setUp();
    board.live = 1;
    board.occupy(1, 5, Date.now() + 3000);
    board.lastDeadline = Date.now() + 3000;
    watchdog.wake();
    vi.advanceTimersByTime(3900);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["a task blocked it beyond its timeout"]);
    expect(culprits).toMatchObject([{ session: 1, id: 5 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is given up when the task that it is in was cancelled", () => {
    const { board, reasons, watchdog } = setUp();
    board.live = 2;
    board.occupy(1, 5, Number.POSITIVE_INFINITY);
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(1, 5);
    vi.advanceTimersByTime(900);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["a task that nobody waited for blocked it"]);
  });

  it("is given up for a cancelled task, however much a greedy caller has cancelled before", () => {
    const { board, reasons, watchdog } = setUp();
    board.live = 2;
    board.occupy(2, 5, Number.POSITIVE_INFINITY);
    board.lastDeadline = Number.POSITIVE_INFINITY;
    for (let id = 0; id < 150_000; id++) watchdog.cancelled(1, id);
    watchdog.cancelled(2, 5);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["a task that nobody waited for blocked it"]);
  });

  it("is given up when the caller of the task that it is in is gone", () => {
    const { board, reasons, watchdog } = setUp();
    board.live = 2;
    board.occupy(3, 1, Number.POSITIVE_INFINITY);
    watchdog.abandoned(3);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["a task that nobody waited for blocked it"]);
  });

  it.each([
    [
      "all are beyond their timeouts",
      (board: ThreadBoard) => {
        board.lastDeadline = Date.now() + 10;
      },
      "tasks blocked it beyond their timeouts",
    ],
    [
      "their caller is gone",
      (_board: ThreadBoard, watchdog: ThreadWatchdog) => watchdog.abandoned(1),
      "tasks that nobody waited for blocked it",
    ],
    [
      "all were cancelled",
      (_board: ThreadBoard, watchdog: ThreadWatchdog) => {
        watchdog.cancelled(1, 1);
        watchdog.cancelled(1, 2);
      },
      "tasks that nobody waited for blocked it",
    ],
  ] as const)("somewhere in its tasks is given up when %s", (_when, set, reason) => {
    const { board, culprits, reasons, watchdog } = setUp();
    board.live = 2;
    board.soleSession = 1;
    board.soleTask = -1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    set(board, watchdog);
    watchdog.wake();
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual([reason]);
    expect(culprits).toEqual([undefined]);
  });

  it("is left alone while it is in a task that is not overdue, whatever happened to others", () => {
    const { board, reasons, watchdog } = setUp();
    board.live = 2;
    board.occupy(1, 5, Number.POSITIVE_INFINITY);
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(1, 6);
    watchdog.cancelled(2, 5);
    watchdog.abandoned(2);
    vi.advanceTimersByTime(10 * LONG_MS);
    expect(reasons).toEqual([]);
  });

  it("is left alone somewhere in its tasks while one of them may go on", () => {
    const { board, reasons, watchdog } = setUp();
    board.live = 2;
    board.soleSession = 1;
    board.soleTask = -1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(1, 6);
    vi.advanceTimersByTime(10 * LONG_MS);
    expect(reasons).toEqual([]);
  });

  it.each([
    ["others had no task there", 1, 5],
    ["there are tasks of several callers", 0, -1],
  ])("is left alone somewhere in its tasks when %s", (_when, soleSession, soleTask) => {
    const { board, reasons, watchdog } = setUp();
    board.live = 1;
    board.soleSession = soleSession;
    board.soleTask = soleTask;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.abandoned(2);
    watchdog.cancelled(1, 6);
    watchdog.cancelled(3, 5);
    vi.advanceTimersByTime(10 * LONG_MS);
    expect(reasons).toEqual([]);
  });

  it("in its only task is given up when that was cancelled", () => {
    const { board, culprits, reasons, watchdog } = setUp();
    board.live = 1;
    board.soleSession = 1;
    board.soleTask = 5;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(1, 5);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["a task that nobody waited for blocked it"]);
    expect(culprits).toEqual([{ session: 1, id: 5 }]);
  });
});

describe("a thread that responds", () => {
  it("takes care of its tasks by itself, and is not asked about what it knows more often than others", () => {
    const { board, reasons, thread, watchdog } = setUp();
    thread.responds = true;
    const ping = vi.spyOn(thread, "ping");
    board.live = 1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(1, 5);
    vi.advanceTimersByTime(10 * LONG_MS);
    expect(reasons).toEqual([]);
    expect(ping).toHaveBeenCalledTimes((10 * LONG_MS) / 1000);
  });

  it("is left alone when it blocks later, for what it knew of before", () => {
    const { board, reasons, thread, watchdog } = setUp();
    thread.responds = true;
    board.live = 2;
    board.soleSession = 2;
    board.soleTask = -1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.cancelled(2, 1);
    vi.advanceTimersByTime(500);
    board.live = 1;
    thread.responds = false;
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual([]);
    watchdog.cancelled(2, 2);
    vi.advanceTimersByTime(LONG_MS);
    expect(reasons).toEqual(["tasks that nobody waited for blocked it"]);
  });

  it("is not watched while it has nothing to do", () => {
    const { board, thread, watchdog } = setUp();
    board.live = 1;
    board.lastDeadline = Number.POSITIVE_INFINITY;
    watchdog.wake();
    vi.advanceTimersByTime(LONG_MS);
    expect(vi.getTimerCount()).toBe(1);
    board.live = 0;
    vi.advanceTimersByTime(LONG_MS);
    expect(vi.getTimerCount()).toBe(0);
    thread.posted = 10;
    watchdog.wake();
    vi.advanceTimersByTime(LONG_MS);
    expect(vi.getTimerCount()).toBe(1);
    watchdog.close();
    watchdog.wake();
    watchdog.cancelled(1, 1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
