import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { DebuggerClient } from "../support/debugger-client.ts";
import { fixture, startProgram } from "../support/run-program.ts";
import { until } from "../support/until.ts";

/** Where a thread has stopped. */
interface Pause {
  readonly callFrames: readonly { readonly location: { readonly lineNumber: number } }[];
}

const PROGRAM = "lifecycle/debugged.mjs";

test("a debugger stops in the code of a task", async () => {
  const program = startProgram(PROGRAM, { args: ["--inspect=127.0.0.1:0"], input: true });
  try {
    await until(() => /ws:\/\/\S+/.test(program.stderr) || program.end !== undefined, "the worker listens");
    const [url = ""] = /ws:\/\/\S+/.exec(program.stderr) ?? [];
    using client = await DebuggerClient.connect(url);
    // The tasks are in a thread of the process. As editors do, ask for it and talk to it through the process.
    let thread: string | undefined;
    let paused: Pause | undefined;
    let count = 0;
    const tell = (method: string, params: object = {}): Promise<unknown> =>
      client.send("NodeWorker.sendMessageToWorker", {
        sessionId: thread,
        message: JSON.stringify({ id: ++count, method, params }),
      });
    client.on("NodeWorker.attachedToWorker", ({ sessionId }) => {
      thread = String(sessionId);
    });
    client.on("NodeWorker.receivedMessageFromWorker", ({ message }) => {
      const { method, params } = JSON.parse(String(message)) as { method?: string; params?: Pause };
      if (method === "Debugger.paused") paused = params;
    });
    await client.send("NodeWorker.enable", { waitForDebuggerOnStart: false });
    await until(() => thread !== undefined, "the thread is known");
    await tell("Debugger.enable");
    const source = readFileSync(fixture(PROGRAM), "utf8").split("\n");
    const lineNumber = source.findIndex((line) => line.includes("return total"));
    await tell("Debugger.setBreakpointByUrl", { url: pathToFileURL(fixture(PROGRAM)).href, lineNumber });
    program.child.stdin?.write("\n");
    await until(() => paused !== undefined, "the task has stopped");
    expect(paused?.callFrames[0]?.location.lineNumber).toBe(lineNumber);
    expect(program.stdout).toBe("");
    await tell("Debugger.resume");
    await until(() => program.stdout !== "", "the task has ended");
    expect(program.stdout).toBe("41\n");
  } finally {
    program.child.kill("SIGKILL");
    await program.ended;
  }
});

test.each(["uncaught", "all"])("calls work with a debugger that stops at %s errors", async (state) => {
  const program = startProgram("lifecycle/debugged-caller.mjs", {
    execArgv: ["--inspect=127.0.0.1:0"],
    input: true,
  });
  try {
    await until(() => /ws:\/\/\S+/.test(program.stderr) || program.end !== undefined, "the program listens");
    const [url = ""] = /ws:\/\/\S+/.exec(program.stderr) ?? [];
    using client = await DebuggerClient.connect(url);
    const pauses: unknown[] = [];
    client.on("Debugger.paused", (pause) => {
      pauses.push(pause);
      void client.send("Debugger.resume");
    });
    await client.send("Runtime.enable");
    await client.send("Debugger.enable");
    await client.send("Debugger.setPauseOnExceptions", { state });
    program.child.stdin?.write("\n");
    await until(() => program.stdout.includes("\n") || program.end !== undefined, "the calls have ended");
    expect(JSON.parse(program.stdout)).toEqual({
      captured: [true, 6],
      passed: [true, true, 7],
      meter: "3 km",
      shared: [
        [2, 2],
        [3, 3],
      ],
      sealed: "SerializationError",
      here: [5, 0],
    });
    // Node.js throws and catches errors by itself.
    if (state === "uncaught") expect(pauses).toEqual([]);
  } finally {
    program.child.kill("SIGKILL");
    await program.ended;
  }
});

test("a worker writes a profile of its tasks, and a snapshot of its heap", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wool-profiles-"));
  try {
    const args = [
      "--cpu-prof",
      `--cpu-prof-dir=${folder}`,
      "--heapsnapshot-signal=SIGUSR2",
      `--diagnostic-dir=${folder}`,
    ];
    const program = startProgram("lifecycle/profiled.mjs", { args });
    const { code, stderr } = await program.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const files = readdirSync(folder);
    const profiles = files.filter((name) => name.endsWith(".cpuprofile"));
    const texts = profiles.map((name) => readFileSync(join(folder, name), "utf8"));
    expect(texts.some((text) => text.includes('"functionName":"burn"'))).toBe(true);
    expect(files.filter((name) => name.endsWith(".heapsnapshot")).length).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
