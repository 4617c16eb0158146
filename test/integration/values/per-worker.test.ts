import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { perWorker, routine, WorkerPool } from "wool-ts";
import { runProgram } from "../../support/run-program.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wool-per-worker-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

test("is made once in each task thread, by the first task that asks, and disposed of when the worker stops", async () => {
  const log = join(folder, "log");
  const note = async (line: string): Promise<void> => {
    const { appendFile } = await import("node:fs/promises");
    await appendFile(log, `${line}\n`);
  };
  const counter = perWorker(
    () => ({ count: 0 }),
    async ({ count }) => {
      await note(`counted to ${count}`);
    },
  );
  const later = perWorker(
    async () => "later",
    (value) => note(value),
  );
  const up = routine(async () => {
    await later.get();
    counter.get().count += 1;
    return counter.get().count;
  });
  const passed = routine(async (handle: typeof counter) => handle.get().count);
  const pool = await WorkerPool.start({ size: 1, workerOptions: { shutdownGracePeriod: 20_000 } });
  try {
    const counts: number[] = [];
    for (let calls = 0; calls < 3; calls += 1) counts.push(await up());
    expect(counts).toEqual([1, 2, 3]);
    expect(await passed(counter)).toBe(3);
    expect(counter.get().count).toBe(0);
  } finally {
    await pool.stop({ timeout: 10_000 });
  }
  expect(await readFile(log, "utf8")).toBe("counted to 3\nlater\n");
});

test("a module and the entry file have one in common, and an error names it with the user's own expression", async () => {
  const { stdout, stderr } = await runProgram("per-worker/main.mjs");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    counts: [1, 2, 3, 3],
    refusals: [
      "const server = perWorker(() => createServer()), with server.get() where it is used",
      "const awaited = perWorker(async () => await Promise.resolve(createServer())), with await awaited.get() where",
      "const taken = perWorker(() => ...), with taken.get() where it is used",
      "const made = perWorker(() => ...), with made.get() where it is used",
      "const inside = perWorker(() => createServer(() => {})), with inside.get() where it is used",
    ].map((advice) => expect.stringContaining(advice)),
  });
});
