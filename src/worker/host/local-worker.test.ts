import { expect, test, vi } from "vitest";
import { WorkerStartError } from "../../errors.ts";
import { isLoopback, LocalWorker } from "./local-worker.ts";

const executable = vi.hoisted(() => ({ isSea: true }));
vi.mock("node:sea", () => ({ isSea: () => executable.isSea }));

test("is not started by a single executable application, which would run itself instead", async () => {
  executable.isSea = true;
  const error: unknown = await new LocalWorker().start().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkerStartError);
  expect(String(error)).toContain(`cannot be started with ${process.execPath}: as a single executable application`);
  expect(String(error)).toContain("Run the program with Node.js");
});

test("tells when there is neither a file for a worker nor one to be carried along", async () => {
  executable.isSea = false;
  const error: unknown = await new LocalWorker().start().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkerStartError);
  expect(String(error)).toMatch(/neither its file \(.*process-main\.cjs\) nor the module with a copy/);
});

test("does not start a process once it was stopped", async () => {
  executable.isSea = false;
  const worker = new LocalWorker();
  const starting = worker.start().catch((reason: unknown) => reason);
  await worker.stop();
  expect(await starting).toBeInstanceOf(WorkerStartError);
  expect(worker.metadata).toBeUndefined();
});

test.each(["127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost", "LOCALHOST"])(
  "%s is this machine alone",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each(["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1", "example.com", "127.example.com"])(
  "%s may be reached by others",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
