import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidArgument, WoolError } from "../errors.ts";
import { PoolDirectory } from "./pool-directory.ts";
import { currentProcess } from "./process-identity.ts";
import { runtimeDirectory, userDirectoryName } from "./runtime-directory.ts";

let scratch: string;
let sharedMemory: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-test-"));
  sharedMemory = mkdtempSync(join(scratch, "shm-"));
  vi.stubEnv("XDG_RUNTIME_DIR", scratch);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs a script in another process that makes a pool directory with a bulk file. Resolves when it has printed both paths. */
async function startOwner(then = ""): Promise<{ child: ChildProcess; path: string; bulk: string }> {
  const source = new URL("./pool-directory.ts", import.meta.url).href;
  const script = `
    import { writeFileSync } from "node:fs";
    const { PoolDirectory } = await import(${JSON.stringify(source)});
    const pool = new PoolDirectory({ sharedMemory: ${JSON.stringify(sharedMemory)} });
    writeFileSync(pool.bulkDirectory() + "/payload", "x");
    process.send([pool.path, pool.bulkDirectory()], () => { ${then} });
    process.on("disconnect", () => process.exit());
  `;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [[path, bulk]] = await once(child, "message");
  return { child, path, bulk };
}

async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

describe("PoolDirectory", () => {
  it("is private and gone after disposal, with all that is in it", async () => {
    const pool = new PoolDirectory({ sharedMemory });
    const server = createServer();
    server.listen(pool.socketPath("worker-0"));
    await once(server, "listening");
    writeFileSync(join(pool.bulkDirectory(), "payload"), "x");
    expect(dirname(pool.path)).toBe(runtimeDirectory());
    expect(pool.bulkDirectory()).toBe(join(sharedMemory, userDirectoryName(), basename(pool.path)));
    for (const path of [pool.path, pool.bulkDirectory(), dirname(pool.bulkDirectory())]) {
      expect(lstatSync(path).mode & 0o777).toBe(0o700);
    }

    await pool.dispose();
    await pool.dispose();
    expect(readdirSync(runtimeDirectory())).toEqual([]);
    expect(readdirSync(join(sharedMemory, userDirectoryName()))).toEqual([]);
    expect(() => pool.bulkDirectory()).toThrow(WoolError);
    server.close();
  });

  it.each([
    ["there is no memory file system", () => join(scratch, "nowhere")],
    ["another user could sit on the name", () => makeSquatted()],
  ])("keeps bulk files to itself where %s", async (_case, place) => {
    const pool = new PoolDirectory({ sharedMemory: place() });
    expect(pool.bulkDirectory()).toBe(join(pool.path, "bulk"));
    await pool.dispose();
    expect(existsSync(pool.path)).toBe(false);
  });

  it("refuses socket names that lead to too long a path", async () => {
    const pool = new PoolDirectory({ sharedMemory });
    expect(() => pool.socketPath("x".repeat(108))).toThrow(InvalidArgument);
    await pool.dispose();
  });

  it("goes with its process when that exits without disposing", async () => {
    const { child, path, bulk } = await startOwner("process.exit(3)");
    if (child.exitCode === null) await once(child, "exit");
    expect(child.exitCode).toBe(3);
    expect([path, bulk].filter(existsSync)).toEqual([]);
  });

  it("leaves no listener on the process behind", async () => {
    const before = process.listenerCount("exit");
    const pools = [new PoolDirectory({ sharedMemory }), new PoolDirectory({ sharedMemory })];
    expect(process.listenerCount("exit")).toBe(before + 1);
    for (const pool of pools) await pool.dispose();
    expect(process.listenerCount("exit")).toBe(before);
  });
});

describe("PoolDirectory.sweepStale", () => {
  it("removes what killed processes left, and nothing of live ones", async () => {
    const own = new PoolDirectory({ sharedMemory });
    own.bulkDirectory();
    const [killed, live] = await Promise.all([startOwner(), startOwner()]);
    await end(killed.child);
    expect([killed.path, killed.bulk].filter(existsSync)).toHaveLength(2);

    await Promise.all([1, 2, 3].map(() => PoolDirectory.sweepStale({ sharedMemory })));
    expect([killed.path, killed.bulk].filter(existsSync)).toEqual([]);
    expect([live.path, live.bulk, own.path, own.bulkDirectory()].filter(existsSync)).toHaveLength(4);

    await end(live.child);
    await PoolDirectory.sweepStale({ sharedMemory });
    await own.dispose();
    expect(readdirSync(runtimeDirectory())).toEqual([]);
  });

  it("removes the directory of a process whose pid another one has now", async () => {
    const path = makeDirectory(`p${process.pid.toString(36)}-reused`);
    writeFileSync(join(path, "owner.json"), JSON.stringify({ ...currentProcess(), startTime: "1" }));
    await PoolDirectory.sweepStale({ sharedMemory });
    expect(existsSync(path)).toBe(false);
  });

  it("leaves alone what has no owner yet, what is not a pool's, and what it cannot judge", async () => {
    const gone = (2 ** 22 + 1).toString(36);
    const fresh = makeDirectory(`p${gone}-fresh`);
    const livePid = makeDirectory(`p${process.pid.toString(36)}-unmarked`, "old");
    const foreign = makeDirectory("something-else", "old");
    const abandoned = makeDirectory(`p${gone}-abandoned`, "old");
    await PoolDirectory.sweepStale({ sharedMemory });
    expect([fresh, livePid, foreign, abandoned].filter(existsSync)).toEqual([fresh, livePid, foreign]);
  });

  it("finds nothing to do where nothing ever was", async () => {
    await expect(PoolDirectory.sweepStale({ sharedMemory: join(scratch, "nowhere") })).resolves.toBeUndefined();
  });
});

describe("PoolDirectory.removeOrphaned", () => {
  it("removes a pool's directories, also when several do so and when its process goes on", async () => {
    const { child, path, bulk } = await startOwner();
    await Promise.all([1, 2, 3].map(() => PoolDirectory.removeOrphaned(path, { sharedMemory })));
    expect([path, bulk].filter(existsSync)).toEqual([]);
    await PoolDirectory.removeOrphaned(path, { sharedMemory });
    await end(child);
  });
});

function makeDirectory(name: string, age: "new" | "old" = "new"): string {
  const path = join(runtimeDirectory(), name);
  mkdirSync(path, { mode: 0o700 });
  if (age === "old") utimesSync(path, 0, 0);
  return path;
}

function makeSquatted(): string {
  mkdirSync(join(sharedMemory, userDirectoryName()), { mode: 0o755 });
  return sharedMemory;
}
