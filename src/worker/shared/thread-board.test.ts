import { afterEach, describe, expect, it, vi } from "vitest";
import { ThreadBoard } from "./thread-board.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("ThreadBoard", () => {
  it("shows one thread what the other wrote", () => {
    vi.useFakeTimers({ now: 1_700_000_000_123, toFake: ["Date"] });
    const writer = new ThreadBoard();
    const reader = new ThreadBoard(writer.memory);
    expect([reader.live, reader.lastEnded, reader.arrivals, reader.consumed]).toEqual([0, 0, 0, 0]);
    writer.live = 3;
    writer.taskEnded();
    writer.arrived();
    writer.arrived();
    writer.consume(100);
    expect([reader.live, reader.lastEnded, reader.arrivals, reader.consumed]).toEqual([3, 1_700_000_000_123, 2, 100]);
    reader.live = 0;
    reader.consume(11);
    expect([writer.live, writer.consumed]).toEqual([0, 111]);
  });

  it("asks for somebody to watch the thread once, until nobody does again", () => {
    const board = new ThreadBoard();
    expect([board.arrived(), board.arrived()]).toEqual([true, false]);
    board.isWatched = false;
    expect([board.arrived(), board.arrived()]).toEqual([true, false]);
    board.isWatched = false;
    board.isWatched = true;
    expect(board.arrived()).toBe(false);
  });

  it("counts bytes past what an integer holds, so that differences stay right", () => {
    const board = new ThreadBoard();
    board.consume(2 ** 31 - 1);
    const before = board.consumed;
    board.consume(10);
    expect((board.consumed - before) | 0).toBe(10);
  });
});
