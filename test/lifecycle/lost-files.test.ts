import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NoWorkersAvailable, routine, WorkerPool } from "wool-ts";
import { killProcess } from "../support/processes.ts";
import { reasonOf } from "../support/reason-of.ts";
import { until } from "../support/until.ts";

// What a cleaner of temporary files takes away while a pool runs.

const add = routine(async (x: number, y: number) => x + y);
const sizeOf = routine(async (bytes: Uint8Array) => bytes.length);
const nested = routine(async () => {
  const sums = await Promise.all(Array.from({ length: 20 }, (_, i) => add(i, 1)));
  return sums.length;
});

function directoryOf(pool: WorkerPool): string {
  return pool.uri.slice(pool.uri.indexOf(":") + 1);
}

/** Removes the files in a directory and below it whose names are wanted. */
function removeFiles(directory: string, isWanted: (name: string) => boolean): number {
  let removed = 0;
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (statSync(path).isDirectory()) removed += removeFiles(path, isWanted);
    else if (isWanted(name)) {
      rmSync(path);
      removed++;
    }
  }
  return removed;
}

async function expectUsable(pool: WorkerPool): Promise<void> {
  const sums = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.dispatch(add, i, 1)));
  expect(sums).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(await pool.dispatch(nested)).toBe(20);
  expect(await pool.dispatch(sizeOf, new Uint8Array(3_000_000))).toBe(3_000_000);
}

test("a pool goes on without its discovery entries, its sockets and its directory, and replaces workers", async () => {
  const pool = await WorkerPool.start({ size: 2 });
  await expectUsable(pool);
  // Each worker is connected to the other one.
  await pool.broadcast(nested);
  const directory = directoryOf(pool);
  expect(removeFiles(directory, (name) => name.endsWith(".json"))).toBeGreaterThan(1);
  await expectUsable(pool);
  expect(removeFiles(directory, (name) => name.endsWith(".sock"))).toBe(2);
  await expectUsable(pool);
  rmSync(directory, { recursive: true });
  const shared = `/dev/shm/wool-${process.geteuid?.()}/${directory.slice(directory.lastIndexOf("/") + 1)}`;
  rmSync(shared, { recursive: true, force: true });
  await expectUsable(pool);
  expect(pool.workers.size).toBe(2);
  const pids = [...pool.workers.values()].map(({ pid }) => pid);
  const all = (): number[] => [...pool.workers.values()].map(({ pid }) => pid);
  for (const pid of pids) killProcess(pid);
  await until(() => all().length === 2 && all().every((pid) => !pids.includes(pid)), "both have been replaced");
  await expectUsable(pool);
  expect(existsSync(directory)).toBe(true);
  await pool.stop();
  expect([existsSync(directory), existsSync(shared)]).toEqual([false, false]);
});

test("another process is told which socket is gone, while those who are connected go on", async () => {
  await using pool = await WorkerPool.start({ size: 1 });
  const [worker] = pool.workers.values();
  if (worker === undefined) throw new Error("there is no worker");
  expect(await pool.dispatch(add, 1, 2)).toBe(3);
  expect(removeFiles(directoryOf(pool), (name) => name.endsWith(".sock"))).toBe(1);
  // A task that connects to its own pool for the first time is such a process.
  const reason = await reasonOf(pool.dispatch(nested));
  expect(reason).toBeInstanceOf(NoWorkersAvailable);
  expect(String(reason)).toContain(`connect ENOENT ${worker.address.slice("unix:".length)}`);
  expect(await pool.dispatch(add, 2, 2)).toBe(4);
});
