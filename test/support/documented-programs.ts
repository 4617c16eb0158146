import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The programs in a page of the documentation: its blocks of TypeScript. */
export class DocumentedPrograms implements Disposable {
  readonly programs: readonly string[];
  readonly #folder = mkdtempSync(join(root, "test", ".documented-"));

  /** `page`: its path from the root of the project. */
  constructor(page: string) {
    const text = readFileSync(join(root, page), "utf8");
    this.programs = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  }

  /** Runs a program as a user would. Resolves with the lines that it wrote. */
  run(code: string): Promise<{ readonly lines: string[]; readonly code: number | null }> {
    const file = join(this.#folder, `program-${this.programs.indexOf(code) + 1}.mts`);
    writeFileSync(file, code);
    return new Promise((resolve) => {
      const child = spawn(process.execPath, ["--import", "tsx", file], { cwd: root });
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
      child.on("close", (exit) => resolve({ lines: output.trim().split("\n"), code: exit }));
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The values that comments behind `console.log` announce. */
export function announced(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)/g)].flatMap(([, comment = ""]) =>
    (/^(?:[\w.]+, )*[\w.]+$/.test(comment) ? comment : (comment.split(",")[0] ?? "")).split(", "),
  );
}
