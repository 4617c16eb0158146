import { afterAll, expect, vi } from "vitest";

/** What fake timers and spies replace. */
function functions(): Readonly<Record<string, unknown>> {
  const { clearImmediate, clearInterval, clearTimeout, Date, queueMicrotask, setImmediate, setInterval, setTimeout } =
    globalThis;
  const { emitWarning, nextTick, stderr, stdout } = process;
  const timers = { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout };
  const clocks = { Date, dateNow: Date.now, performance, now: performance.now, nextTick, queueMicrotask };
  return { ...timers, ...clocks, emitWarning, writeOut: stdout.write, writeError: stderr.write };
}

/** As the first file of this process has found them. */
const originals = ((globalThis as { [key: symbol]: unknown })[Symbol.for("wool-ts.tests.originals")] ??=
  functions()) as ReturnType<typeof functions>;

/** What a file may not leave changed in its process, which other files share with it. */
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
    // Packages may keep what they share behind symbols.
    globals: Object.getOwnPropertyNames(globalThis).sort(),
    processListeners: Object.fromEntries(
      process
        .eventNames()
        // Workers that files share are ended then.
        .filter((name) => name !== "exit")
        .map((name) => [String(name), process.listenerCount(name)]),
    ),
    openPools: runtime?.open.length ?? 0,
    isTaskThread: runtime?.isTaskThread ?? false,
  };
}

const before = state();

// Files share processes, so each must leave its process as it has found it.
afterAll(() => {
  const after = state();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  expect(after, "what this file leaves in its process").toEqual({ ...before, replaced: [] });
});
