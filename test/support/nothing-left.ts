import { afterEach, beforeEach, expect, vi } from "vitest";
import { PoolClosed, routine } from "wool-ts";
import { runningChildren } from "./processes.ts";
import { reasonOf } from "./reason-of.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "./runtime-folder.ts";

let before: number[] = [];

/** The processes that the running test has started and that run. */
export function newChildren(): number[] {
  return runningChildren().filter((child) => !before.includes(child));
}

const ownPid = routine(async () => process.pid);

/** Checks that no pool is open: a call runs right here, or is refused where there was a pool. */
export async function expectNoOpenPool(): Promise<void> {
  const end = await reasonOf(ownPid());
  if (!(end instanceof PoolClosed)) expect(end).toEqual(["it succeeded", process.pid]);
}

/**
 * Gives each test of a file its own runtime folder. After each test, even a failed one, it checks that none of its
 * processes runs and nothing is left on disk.
 *
 * @param alsoCheck - another check to run then
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
