import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { type Program, type ProgramEnd, startProgram } from "../support/run-program.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "../support/runtime-folder.ts";
import { until } from "../support/until.ts";

let folder: RuntimeFolder;

beforeEach(() => {
  folder = makeRuntimeFolder();
});
afterEach(() => {
  folder[Symbol.dispose]();
});

interface Started {
  readonly program: Program;
  readonly pids: number[];
}

/** Runs the program that starts a pool, up to where it tells about it. */
async function startPool(how: string): Promise<Started> {
  const program = startProgram("lifecycle/start-pool.mjs", { args: [how], env: folder.env });
  await until(() => program.stdout.includes("\n") || program.child.exitCode !== null, "the program tells of its pool");
  const { pids } = JSON.parse(program.stdout.split("\n")[0] ?? "") as { pids: number[] };
  return { program, pids };
}

async function expectNothingLeft(pids: readonly number[]): Promise<void> {
  await until(() => !pids.some(isRunning), "every worker has ended");
  await until(() => folder.leftovers().length === 0, "nothing is left on disk");
}

async function runToEnd(how: string): Promise<ProgramEnd> {
  const { program, pids } = await startPool(how);
  const end = await program.ended;
  await expectNothingLeft(pids);
  return end;
}

describe("a program", () => {
  test("that stops its pool ends by itself, in silence", async () => {
    expect(await runToEnd("stop")).toMatchObject({ code: 0, signal: null, stderr: "" });
  });

  test("that forgets to stop its pool is told so and ends all the same", async () => {
    const { code, stderr } = await runToEnd("forget");
    expect(code).toBe(0);
    expect(stderr).toMatch(/pool of 2 workers open/);
    expect(stderr).toMatch(/pool\.stop\(\)/);
  });

  test("that exits with a task under way ends it", async () => {
    expect(await runToEnd("forget with a task")).toMatchObject({ code: 0 });
  });

  test("that calls process.exit keeps its exit code", async () => {
    expect(await runToEnd("exit")).toMatchObject({ code: 3 });
  });

  test("that calls process.exit while a task blocks its thread ends that, too", async () => {
    expect(await runToEnd("exit while busy")).toMatchObject({ code: 4 });
  });

  test("that dies of an exception or a rejection says why and leaves nothing", async () => {
    const [thrown, rejected] = [await runToEnd("throw"), await runToEnd("reject")];
    expect(thrown.code).toBe(1);
    expect(thrown.stderr).toContain("nobody catches this");
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain("nobody handles this");
  });

  test.each(["wait", "wait while busy"])("that is killed leaves nothing (%s)", async (how) => {
    const { program, pids } = await startPool(how);
    expect(pids.filter(isRunning)).toHaveLength(2);
    program.child.kill("SIGKILL");
    expect(await program.ended).toMatchObject({ signal: "SIGKILL" });
    await expectNothingLeft(pids);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("that is ended by %s leaves nothing", async (signal) => {
    const { program, pids } = await startPool("wait");
    program.child.kill(signal);
    expect(await program.ended).toMatchObject({ signal });
    await expectNothingLeft(pids);
  });
});

describe("a pool", () => {
  const pid = routine(async () => process.pid);

  function socketFolder(pool: WorkerPool): string {
    const [worker] = pool.workers.values();
    return dirname((worker?.address ?? "").slice("unix:".length));
  }

  test("keeps its sockets where no other user can enter, and removes them", async () => {
    const pool = await WorkerPool.start({ size: 2 });
    const sockets = socketFolder(pool);
    expect(statSync(sockets).mode & 0o077).toBe(0);
    expect(readdirSync(sockets).filter((name) => name.endsWith(".sock"))).toHaveLength(2);
    await pool.dispatch(pid);
    await pool.stop();
    expect(existsSync(sockets)).toBe(false);
  });

  test("removes what is left of a worker that was killed", async () => {
    const pool = await WorkerPool.start({ size: 2 });
    const sockets = socketFolder(pool);
    const pids = [...pool.workers.values()].map((worker) => worker.pid);
    killProcess(pids[0]);
    await until(() => pool.workers.size === 1, "the pool knows");
    await pool.stop();
    expect(pids.some(isRunning)).toBe(false);
    expect(existsSync(sockets)).toBe(false);
  });

  test("can be stopped while a task blocks its thread", async () => {
    const spin = routine(async () => {
      for (;;);
    });
    const pool = await WorkerPool.start({ size: 1 });
    const [worker] = pool.workers.values();
    const outcome = pool.dispatch(spin).catch((error: unknown) => error);
    await until(() => pool.stats().inFlight === 1, "the call is at the worker");
    await pool.stop();
    expect(await outcome).toBeInstanceOf(Error);
    expect(isRunning(worker?.pid)).toBe(false);
  });

  test("can be stopped with all its workers dead", async () => {
    const pool = await WorkerPool.start({ size: 2 });
    const sockets = socketFolder(pool);
    for (const { pid: victim } of pool.workers.values()) killProcess(victim);
    await pool.stop();
    expect(existsSync(sockets)).toBe(false);
  });

  test("does not add listeners to the process for each start and stop", async () => {
    const counts = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    await (await WorkerPool.start({ size: 1 })).stop();
    const before = counts();
    for (let i = 0; i < 2; i++) await (await WorkerPool.start({ size: 1 })).stop();
    expect(counts()).toBe(before);
  });
});
