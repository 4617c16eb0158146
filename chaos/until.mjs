const LOOK_MS = 20;

/** Waits until `condition` holds, but not longer than `limitMs`. Resolves with whether it does. */
export async function until(condition, limitMs) {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await pause(LOOK_MS);
  }
  return true;
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
