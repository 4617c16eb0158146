// Runs every example as a newcomer would, and fails with the first one that fails.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "examples");
const programs = readdirSync(folder).filter((name) => /\.m?[jt]s$/.test(name) && name !== "demo.mjs");

for (const name of programs) {
  const loader = name.endsWith("ts") ? ["--import", "tsx"] : [];
  const { status, signal } = spawnSync(process.execPath, [...loader, join(folder, name)], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 60_000,
  });
  process.stdout.write(`${name}: ${status === 0 ? "ok" : `failed (${signal ?? status})`}\n`);
  if (status !== 0) process.exit(1);
}
