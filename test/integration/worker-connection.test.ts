import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);

/** What a program prints that has a worker and a connection to it. Rejects when it ends with an exit code. */
async function printed(program: string): Promise<string> {
  const source = `
    import { LocalWorker, WorkerConnection } from "wool-ts";
    const worker = new LocalWorker();
    await worker.start();
    const connection = new WorkerConnection(worker.metadata);
    ${program}`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], { timeout: 20_000 });
  return stdout.trim();
}

describe("a WorkerConnection keeps the program alive", () => {
  test("until it knows the idle time, and no longer", async () => {
    expect(await printed("console.log(typeof (await connection.idleTime()));")).toBe("number");
  });

  test("until it knows the idle time a second time", async () => {
    expect(await printed("await connection.idleTime(); console.log(typeof (await connection.idleTime()));")).toBe(
      "number",
    );
  });

  test("until the worker is gone", async () => {
    expect(await printed("await connection.stop(); console.log('stopped');")).toBe("stopped");
  });
});
