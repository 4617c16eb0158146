import { afterAll, expect, vi } from "vitest";

/** What a file may not leave changed in its process, which other files share with it. */
function state() {
  const runtime = Reflect.get(globalThis, Symbol.for("wool-ts.runtime.v2")) as
    | { readonly open: readonly unknown[]; readonly isTaskThread?: boolean }
    | undefined;
  return {
    fakeTimers: vi.isFakeTimers(),
    environment: { ...process.env },
    directory: process.cwd(),
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
  vi.restoreAllMocks();
  expect(after, "what this file leaves in its process").toEqual(before);
});
