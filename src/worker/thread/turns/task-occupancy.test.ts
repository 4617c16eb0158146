import { expect, it } from "vitest";
import { ThreadBoard } from "../../shared/thread-board.ts";
import type { RunningTask } from "../running-task.ts";
import { TaskOccupancy } from "./task-occupancy.ts";

it("shows whose the live tasks are, as far as that is certain", () => {
  const board = new ThreadBoard();
  const occupancy = new TaskOccupancy(board);
  const sessions = [7, 8].map((number) => ({ number, live: 0 }));
  const task = (session: number, wireId: number) => ({ session: sessions[session], wireId }) as unknown as RunningTask;
  const shown: unknown[] = [];
  const show = () => shown.push([board.live, board.soleSession, board.soleTask]);
  const [first, second, third] = [task(0, 0), task(0, 1), task(1, 0)];
  for (const started of [first, second, third]) {
    occupancy.started(started, 0);
    show();
  }
  for (const ended of [third, first, second]) {
    occupancy.ended(ended);
    show();
  }
  expect(shown).toEqual([
    [1, 7, 0],
    [2, 7, -1],
    [3, 0, -1],
    [2, 7, -1],
    [1, 7, -1],
    [0, 0, -1],
  ]);
});
