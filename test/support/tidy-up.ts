import { afterAll, expect, vi } from "vitest";

/** Globals that fake timers and spies replace. */
function functions(): Readonly<Record<string, unknown>> {
  const { clearImmediate, clearInterval, clearTimeout, Date, queueMicrotask, setImmediate, setInterval, setTimeout } =
    globalThis;
  const { emitWarning, nextTick, stderr, stdout } = process;
  const timers = { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout };
  const clocks = { Date, dateNow: Date.now, performance, now: performance.now, nextTick, queueMicrotask };
  return { ...timers, ...clocks, emitWarning, writeOut: stdout.write, writeError: stderr.write };
}

/** Their values when the first file of this process starts. */
const originals = ((globalThis as { [key: symbol]: unknown })[Symbol.for("wool-ts.tests.originals")] ??=
  functions()) as ReturnType<typeof functions>;

/** State that a file must not leave changed in its process, which it shares with other files. */
function state() {
  const runtime = Reflect.get(globalThis, Symbol.for("wool-ts.runtime.v2")) as
    | { readonly open: readonly unknown[]; readonly isTaskThread?: boolean }
    | undefined;
  return {
    replaced: Object.entries(functions()).flatMap(([name, value]) => (value === originals[name] ? [] : [name])),
    environment: { ...process.env },
    directory: process.cwd(),
    stackTraceLimit: Error.stackTraceLimit,
    preparesStacks: typeof Error.prepareStackTrace,
    execArgv: [...process.execArgv],
    // Packages may keep shared state behind symbols.
    globals: Object.getOwnPropertyNames(globalThis).sort(),
    processListeners: Object.fromEntries(
      process
        .eventNames()
        // Ends the workers that files share.
        .filter((name) => name !== "exit")
        .map((name) => [String(name), process.listenerCount(name)]),
    ),
    openPools: runtime?.open.length ?? 0,
    isTaskThread: runtime?.isTaskThread ?? false,
  };
}

const before = state();

// Files share processes, so each must leave its process unchanged.
afterAll(() => {
  const after = state();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  expect(after, "what this file leaves in its process").toEqual({ ...before, replaced: [] });
});
