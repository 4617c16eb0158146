import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(root, "test", ".readme-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const programs = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, code = ""]) => code,
);

/** The values that comments behind `console.log` announce. */
function announced(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)/g)].flatMap(([, comment = ""]) =>
    (/^(?:[\w.]+, )*[\w.]+$/.test(comment) ? comment : (comment.split(",")[0] ?? "")).split(", "),
  );
}

function run(file: string): Promise<{ output: string; code: number | null }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--import", "tsx", file], { cwd: root });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.on("close", (code) => resolve({ output, code }));
  });
}

it("has programs to run", () => expect(programs.length).toBeGreaterThanOrEqual(6));

it.each(programs.map((code, i) => [i + 1, code] as const))(
  "program %i of the README does what it says",
  async (i, code) => {
    const file = join(folder, `program-${i}.mts`);
    writeFileSync(file, code);
    const { output, code: exit } = await run(file);
    expect(output.trim().split("\n")).toEqual(announced(code));
    expect(exit).toBe(0);
  },
);
