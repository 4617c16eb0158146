import { setTimeout as delay } from "node:timers/promises";

const LOOK_EVERY_MS = 5;
/** Less than the time limit of a test, so that the error says what it waited for. */
const LONGEST_WAIT_MS = 80_000;

/** Resolves when `condition` holds. Rejects, naming `what` was waited for, when it never does. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await delay(LOOK_EVERY_MS);
  }
}
