import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The complete programs of a page of documentation. */
export function programsOf(page: string): string[] {
  return [...readFileSync(join(root, page), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
}

/** The values that comments behind `console.log` announce. */
export function announced(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)/g)].flatMap(([, comment = ""]) =>
    (/^(?:[\w.]+, )*[\w.]+$/.test(comment) ? comment : (comment.split(",")[0] ?? "")).split(", "),
  );
}

/**
 * Runs a program as a user of the package would, and returns its output, line by line, and its exit code. Its types are
 * removed beforehand: loading tsx in it and in each of its workers takes longer than these programs themselves.
 */
export async function runPageProgram(
  code: string,
): Promise<{ readonly lines: string[]; readonly exit: number | null }> {
  // Inside the package, so that its name resolves to it.
  const folder = mkdtempSync(join(root, "test", ".page-"));
  const file = join(folder, "program.mjs");
  writeFileSync(file, (await transform(code, { loader: "ts", target: "node20" })).code);
  try {
    return await run(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The errors of the compiler for programs; empty if there are none. */
export async function typeErrorsOf(programs: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(root, "test", ".page-"));
  // A pool that is only opened counts as used too.
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, erasableSyntaxOnly: false },
    include: ["*.mts"],
  };
  try {
    programs.forEach((code, i) => {
      writeFileSync(join(folder, `program-${i + 1}.mts`), code);
    });
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = spawn(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder]);
    let output = "";
    for (const stream of [compiler.stdout, compiler.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    }
    await new Promise((resolve) => compiler.on("close", resolve));
    return output;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(file: string): Promise<{ lines: string[]; exit: number | null }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [file], { cwd: root });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.on("close", (exit) => resolve({ lines: output.trim().split("\n"), exit }));
  });
}
