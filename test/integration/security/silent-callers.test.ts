import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalWorker, routine, WorkerConnection } from "wool-ts";
import { startProgram } from "../../support/run-program.ts";
import { until } from "../../support/until.ts";

test.each(["channel", "limits"] as const)("the tasks of a frozen caller are cancelled: %s", async (where) => {
  const folder = mkdtempSync(join(tmpdir(), "wool-silent-"));
  const file = join(folder, "notes");
  writeFileSync(file, "");
  const notes = (): string[] => readFileSync(file, "utf8").trim().split("\n").sort();
  await using worker = new LocalWorker({
    channel: { keepaliveInterval: 100, keepaliveTimeout: where === "channel" ? 400 : 600_000 },
    ...(where === "limits" ? { limits: { keepaliveTimeout: 400 } } : {}),
  });
  await worker.start();
  if (worker.metadata === undefined) throw new Error("it was not started");
  const caller = startProgram("lifecycle/calls-a-worker.mjs", { args: [worker.metadata.address, file] });
  try {
    await until(() => notes().length === 3, "the tasks run");
    await using own = new WorkerConnection(worker.metadata);
    caller.child.kill("SIGSTOP");
    await until(() => notes().length === 6, "the tasks are cancelled");
    expect(notes().filter((line) => !line.endsWith("begun"))).toEqual([
      "one the caller is gone",
      "stream closed",
      "two the caller is gone",
    ]);
    // Others notice nothing.
    expect(await own.dispatch(routine(async () => process.pid))).toBe(worker.metadata.pid);
  } finally {
    caller.child.kill("SIGKILL");
    await caller.ended;
    rmSync(folder, { recursive: true });
  }
});
