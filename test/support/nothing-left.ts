import { afterEach, beforeEach, expect, vi } from "vitest";
import { runningChildren } from "./processes.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "./runtime-folder.ts";

let before: number[] = [];

/** The processes that the running test has started and that run. */
export function newChildren(): number[] {
  return runningChildren().filter((child) => !before.includes(child));
}

/**
 * Gives each test of a file a runtime folder of its own and checks, whatever the test did, that none of its processes
 * runs and nothing is on disk afterwards.
 *
 * @param alsoCheck - what else must hold then
 */
export function expectNothingLeft(alsoCheck?: () => Promise<void>): void {
  let folder: RuntimeFolder;
  beforeEach(() => {
    before = runningChildren();
    folder = makeRuntimeFolder();
    for (const [name, value] of Object.entries(folder.env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    try {
      expect(newChildren()).toEqual([]);
      expect(folder.leftovers()).toEqual([]);
      await alsoCheck?.();
    } finally {
      vi.useRealTimers();
      vi.unstubAllEnvs();
      folder[Symbol.dispose]();
    }
  });
}
