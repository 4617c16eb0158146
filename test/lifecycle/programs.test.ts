import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { LocalWorker, routine, WorkerPool } from "wool-ts";
import { isRunning, killProcess, runningChildren } from "../support/processes.ts";
import { type Program, type ProgramEnd, startProgram } from "../support/run-program.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "../support/runtime-folder.ts";
import { until } from "../support/until.ts";

/** Whether there is the program that makes terminals. */
const hasScript = spawnSync("script", ["--version"]).status === 0;
if (!hasScript) console.warn("skipped: what is typed at a terminal, since there is no `script`");

/** Runs the program that starts a pool. Its end is no end before nothing of it is left. */
class PoolProgram implements Disposable {
  readonly program: Program;
  readonly #folder: RuntimeFolder = makeRuntimeFolder();
  #pids: number[] = [];

  constructor(how: string) {
    this.program = startProgram("lifecycle/start-pool.mjs", { args: [how], env: this.#folder.env, ownGroup: true });
  }

  /** Resolves with the workers' processes once the pool is there. */
  async started(): Promise<number[]> {
    const { program } = this;
    await until(() => program.stdout.includes("\n") || program.end !== undefined, "the program tells of its pool");
    const [line = "", ...rest] = program.stdout.split("\n");
    if (rest.length === 0) throw new Error(`the program told nothing: ${JSON.stringify(program.end)}`);
    const { pids } = JSON.parse(line) as { pids: number[] };
    this.#pids = pids;
    return pids;
  }

  /** Resolves with the workers' processes once they are being started. */
  async starting(workers: number): Promise<number[]> {
    const { pid } = this.program.child;
    await until(() => runningChildren(pid).length === workers, "the program starts its workers");
    this.#pids = runningChildren(pid);
    return this.#pids;
  }

  async ended(): Promise<ProgramEnd> {
    if (this.#pids.length === 0) await this.started();
    const end = await this.program.ended;
    await until(() => !this.#pids.some(isRunning), "every worker has ended");
    const pids = [this.program.child.pid ?? 0, ...this.#pids];
    await until(() => this.#folder.leftovers(pids).length === 0, "nothing is left on disk");
    return end;
  }

  [Symbol.dispose](): void {
    this.program.child.kill("SIGKILL");
    for (const pid of this.#pids) if (isRunning(pid)) killProcess(pid);
    this.#folder[Symbol.dispose]();
  }
}

async function runToEnd(how: string): Promise<ProgramEnd> {
  using running = new PoolProgram(how);
  return await running.ended();
}

describe.concurrent("a program", () => {
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

  test("that leaves a stream which it does not read to its end ends by itself", async () => {
    const { code, stderr } = await runToEnd("forget a stream");
    expect(code).toBe(0);
    expect(stderr).toMatch(/pool of 1 workers open/);
  });

  test("that waits for the next step of a stream goes on until it is there", async () => {
    const { code, stdout } = await runToEnd("read one step more");
    expect([code, stdout.trim().split("\n").at(-1)]).toEqual([0, "step 2"]);
  });

  test("that calls process.exit keeps its exit code", async () => {
    expect(await runToEnd("exit")).toMatchObject({ code: 3 });
  });

  test("that calls process.exit while a task blocks its thread ends that, too", async () => {
    expect(await runToEnd("exit while busy")).toMatchObject({ code: 4 });
  });

  test.each([
    ["an exception", "throw", "nobody catches this"],
    ["a rejection", "reject", "nobody handles this"],
  ])("that dies of %s says why and leaves nothing", async (_name, how, text) => {
    const { code, stderr } = await runToEnd(how);
    expect(code).toBe(1);
    expect(stderr).toContain(text);
  });

  test.each(["wait", "wait while busy", "wait while chatting"])("that is killed leaves nothing (%s)", async (how) => {
    using running = new PoolProgram(how);
    expect((await running.started()).filter(isRunning)).toHaveLength(2);
    running.program.child.kill("SIGKILL");
    expect(await running.ended()).toMatchObject({ signal: "SIGKILL" });
  });

  test.each(["SIGTERM", "SIGINT"] as const)("that is ended by %s leaves nothing", async (signal) => {
    using running = new PoolProgram("wait");
    await running.started();
    running.program.child.kill(signal);
    expect(await running.ended()).toMatchObject({ signal });
  });

  test("that is interrupted at a terminal, its workers with it, leaves nothing although a task runs", async () => {
    using running = new PoolProgram("wait with a task");
    for (const pid of await running.started()) process.kill(pid, "SIGINT");
    running.program.child.kill("SIGINT");
    expect(await running.ended()).toMatchObject({ signal: "SIGINT" });
  });
});

test("a worker that was frozen when its program was killed ends when it thaws", async () => {
  using running = new PoolProgram("wait");
  const [frozen = 0, other] = await running.started();
  process.kill(frozen, "SIGSTOP");
  running.program.child.kill("SIGKILL");
  await until(() => !isRunning(other), "the other one has ended");
  process.kill(frozen, "SIGCONT");
  expect(await running.ended()).toMatchObject({ signal: "SIGKILL" });
});

describe.concurrent("a program at a terminal", () => {
  test.skipIf(!hasScript)("that is interrupted can use its workers to the end, and stops them in order", async () => {
    using folder = makeRuntimeFolder();
    const program = fileURLToPath(new URL("../fixtures/lifecycle/start-pool.mjs", import.meta.url));
    // Without `exec`, a shell that is interrupted as well may tell of that instead of how the program ended.
    const command = `exec "${process.execPath}" "${program}" "wait in order"`;
    // A terminal of its own: what is written to it counts as typed.
    const terminal = spawn("script", ["-qefc", command, "/dev/null"], { env: { ...process.env, ...folder.env } });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (chunk: string) => (shown += chunk));
    const end = once(terminal, "close");
    await until(() => shown.includes("pids"), "the pool is there");
    terminal.stdin.write("\u0003");
    const [code] = await end;
    const told = Array.from(
      shown.matchAll(/\{.*\}/g),
      ([line]) => JSON.parse(line) as { pids?: number[]; last?: number },
    );
    const pids = told.flatMap((line) => line.pids ?? []);
    expect(code).toBe(0);
    expect(pids).toContain(told.at(-1)?.last);
    await until(() => !pids.some(isRunning), "every worker has ended");
    await until(() => folder.leftovers(pids).length === 0, "nothing is left on disk");
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)(
    "that is ended by %s with its process group leaves nothing",
    async (signal) => {
      using running = new PoolProgram("wait with a task");
      await running.started();
      process.kill(-(running.program.child.pid ?? Number.NaN), signal);
      expect(await running.ended()).toMatchObject({ signal });
    },
  );

  test.each(["SIGKILL", "SIGINT"] as const)("that is ended by %s while it starts leaves nothing", async (signal) => {
    using running = new PoolProgram("start for ever");
    await running.starting(2);
    running.program.child.kill(signal);
    expect(await running.ended()).toMatchObject({ signal });
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
    const pool = await WorkerPool.start({ size: 2, worker: (options) => new LocalWorker(options) });
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
