import { afterEach, expect, test } from "vitest";
import { ContextVar } from "../../context/context-var.ts";
import { WorkerStartError } from "../../errors.ts";
import { extendCallContext, markTaskThread } from "../../routine/call-context.ts";
import type { Task } from "../../routine/task.ts";
import { LocalWorker } from "./local-worker.ts";
import { refuseOutsideTasks } from "./refuse-outside-tasks.ts";
import { ResilientWorker } from "./resilient-worker.ts";

const runtime = Reflect.get(globalThis, Symbol.for("wool-ts.runtime.v2")) as { isTaskThread?: boolean };
const refuse = (): void => refuseOutsideTasks("this");

afterEach(() => {
  delete runtime.isTaskThread;
});

test("only threads that run tasks refuse to start workers besides them", () => {
  expect(refuse).not.toThrow();
  markTaskThread();
  expect(refuse).toThrow(WorkerStartError);
  expect(refuse).toThrow(/^this was called in a worker outside of any task: .* Start the pool in the entry file/);
  expect(() => extendCallContext({ task: {} as Task }, refuse)).not.toThrow();
});

test("a scope that is no task's changes nothing", () => {
  markTaskThread();
  expect(() => new ContextVar<number>("x").run(1, refuse)).toThrow(WorkerStartError);
});

test.each([LocalWorker, ResilientWorker])("%o is not started, either", async (Type) => {
  markTaskThread();
  await expect(new Type().start()).rejects.toThrow(`${Type.name}.start() was called in a worker outside of any task`);
});
