import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { routine, WorkerCredentialsProvider, WorkerPool } from "wool-ts";

const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "wool-certs-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function certs(...args: string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, "certs", ...args], { cwd });
  return { status, out: String(stdout), err: String(stderr) };
}

test("makes an authority and certificates that a pool can use", async () => {
  for (const action of ["init", "worker", "client"]) {
    expect(certs(action)).toMatchObject({ status: 0, err: "" });
  }
  expect(readdirSync(join(cwd, "certs")).sort()).toEqual([
    "ca.key",
    "ca.pem",
    "client.key",
    "client.pem",
    "worker.key",
    "worker.pem",
  ]);
  const at = (name: string): string => join(cwd, "certs", name);
  const own = (name: string) =>
    WorkerCredentialsProvider.fromFiles({ ca: at("ca.pem"), key: at(`${name}.key`), cert: at(`${name}.pem`) });
  await using pool = await WorkerPool.start({
    size: 1,
    credentials: own("client"),
    workerOptions: { host: "127.0.0.1", credentials: own("worker") },
  });
  expect(await pool.dispatch(routine(async () => 7))).toBe(7);
});

test("shows what there is, as text and as JSON, and fails for a certificate that is no good", () => {
  certs("init", "--name", "Ada's authority");
  certs("worker", "w1", "--host", "10.0.0.7", "--host", "spiffe://example.org/w", "--days", "30");
  const shown = certs("show");
  expect(shown.status).toBe(0);
  expect(shown.out).toContain('authority "Ada\'s authority"');
  expect(shown.out).toContain(`10.0.0.7, spiffe://example.org/w, localhost, ${hostname()}, 127.0.0.1`);
  const reports = JSON.parse(certs("show", "--json").out) as { name: string; role: string; problems: string[] }[];
  expect(reports.map(({ name, role, problems }) => [name, role, problems])).toEqual([
    ["ca", "authority", []],
    ["w1", "worker", []],
  ]);
  expect(JSON.stringify(reports)).not.toContain("PRIVATE KEY");
  certs("init", "--force");
  expect(certs("show").status).toBe(1);
});

test("renews what there is, and only what is asked for", () => {
  certs("init");
  certs("worker", "--days", "2", "--only-hosts", "--host", "w.example");
  certs("client", "--days", "2");
  const ends = (): string[] =>
    (JSON.parse(certs("show", "--json").out) as { validTo: string }[]).map(({ validTo }) => validTo);
  const before = ends();
  expect(certs("renew", "worker").status).toBe(0);
  const after = ends();
  expect(after.map((end, i) => end === before[i])).toEqual([true, true, false]);
  expect(certs("renew").status).toBe(0);
  expect(ends().map((end, i) => end === before[i])).toEqual([true, false, false]);
});

test.each([
  [[], "which action?"],
  [["shwo"], "Did you mean show?"],
  [["worker"], "make one first with `wool certs init`"],
  [["show"], "there are no certificates"],
  [["init", "extra"], "takes no name"],
  [["client", "a", "b"], "one certificate at a time"],
  [["init", "--days", "0"], "--days must be a number above 0"],
  [["init", "--colour"], "there is no option --colour"],
  [["init", "--day", "3"], "there is no option --day; did you mean --days?"],
  [["init", "--days", "3", "--days", "4"], "--days is given more than once"],
])("does nothing for %j, and says why", (args, says) => {
  const { status, err } = certs(...args);
  expect([status, readdirSync(cwd)]).toEqual([2, []]);
  expect(err).toContain(says);
});
