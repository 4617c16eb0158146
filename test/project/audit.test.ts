import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = join(import.meta.dirname, "../../scripts/audit.mjs");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-audit-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the script where npm says this. */
function auditWith(npmSays: string, ...args: string[]): { status: number | null; output: string } {
  const npm = join(folder, "npm");
  writeFileSync(npm, `#!/bin/sh\ncat <<'END'\n${npmSays}\nEND\nexit 1\n`);
  chmodSync(npm, 0o755);
  const path = [folder, dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: "utf8",
    env: { ...process.env, PATH: path },
  });
  return { status, output: stdout + stderr };
}

test("a known fault fails the audit, and is named", () => {
  const found = {
    vulnerabilities: { "left-pad": { severity: "critical" } },
    metadata: { vulnerabilities: { total: 1 }, dependencies: { total: 9 } },
  };
  const { status, output } = auditWith(JSON.stringify(found));
  expect(status).toBe(1);
  expect(output).toContain("1 known faults in 9 packages");
  expect(output).toContain("left-pad: critical");
});

test("no known fault passes", () => {
  const none = { vulnerabilities: {}, metadata: { vulnerabilities: { total: 0 }, dependencies: { total: 9 } } };
  expect(auditWith(JSON.stringify(none))).toEqual({ status: 0, output: "0 known faults in 9 packages\n" });
});

test.each([
  ["that refuses", JSON.stringify({ message: "405 Method Not Allowed - POST https://registry.example/-/bulk" })],
  ["that says nothing", ""],
  ["that says something else", "<html>no</html>"],
])("a registry %s is told of without its address, and is a fault only where an audit is required", (_name, says) => {
  const { status, output } = auditWith(says);
  expect(status).toBe(0);
  expect(output).toMatch(/^NOT AUDITED: the registry could not be asked for known faults: \S/);
  expect(output).not.toMatch(/https?:|registry\.example/);
  expect(auditWith(says, "--required").status).toBe(1);
});
