import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = `
  import { routine, WorkerPool } from "wool-ts";
  const echo = routine(async (bytes) => bytes);
  const pool = await WorkerPool.start({ size: 1 });
  for (const size of [100_000, 1_000_000, 15_000_000, 20_000_000]) {
    if ((await echo(new Uint8Array(size).fill(7))).length !== size) throw new Error("a wrong answer");
  }
  await pool.stop();
  console.log("served");
`;

const base = mkdtempSync(join(tmpdir(), "wool-taken-"));
afterAll(() => rmSync(base, { recursive: true }));

/** Runs the program where nobody else sees what a shell command has mounted and taken. */
function serve(prepare: string): { out: string; err: string } {
  const own = `mount -t tmpfs none ${base} && mkdir -m 700 ${base}/home && mkdir -m 1777 ${base}/tmp`;
  const shell = ["--mount", "sh", "-c", `${own} && ${prepare} && exec "$@"`, "sh"];
  const program = [process.execPath, "--input-type=module", "-e", PROGRAM];
  const env = { ...process.env, XDG_RUNTIME_DIR: "", TMPDIR: `${base}/tmp`, HOME: `${base}/home` };
  const { stdout, stderr } = spawnSync("unshare", [...shell, ...program], { cwd: root, env, timeout: 60_000 });
  return { out: String(stdout).trim(), err: String(stderr) };
}

const canMount = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", base]).status === 0;
if (!canMount) console.warn("What other users may have taken is not tested: this user cannot mount file systems.");

describe.skipIf(!canMount)("a pool works, payloads of every size included, when", () => {
  const shm = "mount -t tmpfs none /dev/shm";
  const mine = `wool-${process.geteuid?.()}`;
  const taken = (path: string): string => `mkdir -m 700 ${path}/${mine} && chown 12345 ${path}/${mine}`;
  test.each([
    ["nobody has taken anything", "true"],
    ["another user has taken its name in /dev/shm", `${shm} && ${taken("/dev/shm")}`],
    ["somebody has put a link there", `${shm} && ln -s /tmp /dev/shm/${mine}`],
    ["/dev/shm is read-only", "mount -t tmpfs -o ro none /dev/shm"],
    ["/dev/shm is out of inodes", "mount -t tmpfs -o nr_inodes=1 none /dev/shm"],
    ["/dev/shm is nearly out of inodes", "mount -t tmpfs -o nr_inodes=5 none /dev/shm"],
    ["/dev/shm is full", "mount -t tmpfs -o size=64k none /dev/shm"],
    ["another user has taken its name in the temporary directory", taken(`${base}/tmp`)],
    ["another user owns the temporary directory", `chown 12345 ${base}/tmp`],
  ])("%s", (_name, prepare) => {
    expect(serve(prepare)).toEqual({ out: "served", err: "" });
  });
});
