import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { EVERYTHING, installDependencies, useBundleProject } from "../support/bundle.ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { startProgram } from "../support/run-program.ts";
import { outputOf, runToEnd } from "../support/run-to-end.ts";
import { makeRuntimeFolder } from "../support/runtime-folder.ts";
import { until } from "../support/until.ts";

const project = useBundleProject();

describe("a program bundled with its packages", () => {
  // The other ways are tried with those of other bundlers, by the tests of compatibility.
  test.each([
    ["an ES module", "esm", {}],
    ["CommonJS, minified", "cjs", { minify: true }],
  ] as const)("as %s does everything on workers", async (_, format, options) => {
    expect(await outputOf(await project.bundle("everything.ts", format, options))).toEqual(EVERYTHING);
  });

  test.each([{}, { minify: true }])("may be the quick start of the README: %o", async (options) => {
    const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
    const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    project.write("quick-start.ts", program);
    project.write("quick-start-cjs.ts", program.replace(/^await using[\s\S]*/m, "void (async () => {\n$&})();\n"));
    for (const [name, format] of [
      ["quick-start.ts", "esm"],
      ["quick-start-cjs.ts", "cjs"],
    ] as const) {
      expect(await runToEnd(await project.bundle(name, format, options))).toMatchObject({
        code: 0,
        stdout: "3\n",
        stderr: "",
      });
    }
  });

  test("may have a CommonJS package that requires modules of Node", async () => {
    const expected = ["b", "{ file: 'a/b' }"];
    expect(await outputOf(await project.bundle("uses-node.ts", "cjs"))).toEqual(expected);
    expect(await outputOf(await project.bundle("uses-node.ts", "cjs", { minify: true }))).toEqual(expected);
    const require = 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);';
    expect(await outputOf(await project.bundle("uses-node.ts", "esm", { banner: { js: require } }))).toEqual(expected);
  });

  test.each(["esm", "cjs"] as const)("passes options of Node on to its workers, as %s", async (format) => {
    const found = [true, "red", true, true];
    expect(await outputOf(await project.bundle("options.ts", format))).toEqual([found, found]);
  });

  test.each(["esm", "cjs"] as const)("maps remote lines of a stack as it maps its own, as %s", async (format) => {
    project.write(
      "throws.ts",
      `import { routine, WorkerPool } from "wool-ts";

interface Given { readonly item: string }

function sellNothing({ item }: Given): never {
  throw new Error("no " + item, { cause: new Error("never had any") }); // line 6
}
const sell = routine(async (given: Given) => sellNothing(given)); // line 8

async function main(): Promise<void> {
  const pool = await WorkerPool.start({ size: 1 });
  const error: Error = await sell({ item: "tea" }).then(() => new Error("sold"), (reason) => reason); // line 12
  await pool.stop();
  const { cause } = error as { cause: Error };
  console.log(JSON.stringify([...error.stack?.split("\\n").slice(0, 3) ?? [], cause.stack?.split("\\n")[1]]));
}
void main();
`,
    );
    const file = await project.bundle("throws.ts", format, { sourcemap: true });
    const stack = (await outputOf(file, { execArgv: ["--enable-source-maps"] })) as string[];
    expect(stack[0]).toBe("Error: no tea");
    expect(stack[1]).toMatch(/sellNothing \(\S*\/throws\.ts:6:9\)$/);
    expect(stack[2]).toMatch(/throws\.ts:8:\d+\)?$/);
    expect(stack[3]).toMatch(/sellNothing \(\S*\/throws\.ts:6:\d+\)$/);
  });

  test("leaves nothing behind when it is killed", async () => {
    using folder = makeRuntimeFolder();
    const program = startProgram(await project.bundle("wait.ts", "esm"), { env: folder.env });
    try {
      await until(() => program.stdout.includes("\n") || program.end !== undefined, "the pool has started");
      const [pid] = JSON.parse(program.stdout) as number[];
      expect(isRunning(pid)).toBe(true);
      expect(folder.leftovers().filter((path) => path.endsWith("wool-worker.mjs"))).toHaveLength(1);
      killProcess(program.child.pid);
      await program.ended;
      await until(() => !isRunning(pid), "the worker has ended");
      await until(() => folder.leftovers([program.child.pid ?? 0]).length === 0, "nothing is left on disk");
    } finally {
      program.child.kill("SIGKILL");
    }
  });
});

describe("a library bundled with the runtime", () => {
  test.each(["esm", "cjs"] as const)("travels as code and meets the worker's own runtime, as %s", async (format) => {
    // Without private members in it, which would keep a module from being loaded by workers as well.
    const outfile = join(project.folder, `library.${format === "esm" ? "mjs" : "cjs"}`);
    const library = await project.bundle("library.ts", format, { target: "es2021", outfile });
    const end = await outputOf(join(project.folder, "uses-library.mjs"), { args: [pathToFileURL(library).href] });
    expect(end).toEqual([true, "visit"]);
  });
});

describe("a package that cannot travel", () => {
  const own =
    /^SerializationError: \w+ -> own\d*: a WeakRef points into the memory of this process\. Pass what deref\(\) returns\.( Or have each worker make it once: const own\d* = perWorker\(.*)?$/;

  test.each(["esm", "cjs"] as const)("is named when it is inside of a bundle, as %s", async (format) => {
    const file = await project.bundle("refused.ts", format);
    const [refusal, ownRefusal] = (await outputOf(file)) as string[];
    expect(refusal).toBe(
      "SerializationError: usesPackage -> remember -> forgotten: a FinalizationRegistry watches the memory of this " +
        "process. Make it inside the routine. This is code of node_modules/holds-handles/index.js inside the bundle " +
        `${file.slice(file.lastIndexOf("/") + 1)}: leave packages out of it (esbuild: packages: "external"), and ` +
        "workers import them by themselves.",
    );
    expect(ownRefusal).toMatch(own);
  });

  test("may be the reason, which is all that can be told of a minified bundle", async () => {
    const [refusal, ownRefusal] = (await outputOf(
      await project.bundle("refused.ts", "cjs", { minify: true }),
    )) as string[];
    for (const message of [refusal, ownRefusal]) {
      expect(message).toMatch(
        /This code is in the bundle refused-\d+\.cjs: if it belongs to a package, leave packages/,
      );
      expect(message).toContain('packages: "external"');
    }
  });

  test('is imported by workers with packages: "external"', async () => {
    installDependencies(join(project.folder, "node_modules"));
    for (const format of ["esm", "cjs"] as const) {
      const outfile = join(project.folder, `external.${format === "esm" ? "mjs" : "cjs"}`);
      const file = await project.bundle("refused.ts", format, { packages: "external", outfile });
      const [answer, ownRefusal] = (await outputOf(file)) as string[];
      expect(answer).toBe("kept");
      expect(ownRefusal).toMatch(own);
    }
  });
});

describe("where no worker can be found", () => {
  test("says what is missing and what to set", async () => {
    const file = await project.bundle("everything.ts", "esm", {
      plugins: [
        {
          name: "leaves it out",
          setup: ({ onResolve }) => onResolve({ filter: /embedded-worker/ }, ({ path }) => ({ path, external: true })),
        },
      ],
    });
    const { code, stderr } = await runToEnd(file);
    expect(code).toBe(1);
    expect(stderr).toContain("WorkerStartError: a worker process cannot be started: neither its file (");
    expect(stderr).toContain('Keep wool-ts out of the bundle (esbuild: packages: "external") and install it');
  });
});
