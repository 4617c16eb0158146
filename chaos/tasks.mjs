import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { currentTask, routine } from "wool-ts";

/**
 * The tasks that the calls run. Each task first notes its token in a file of its process, so that the files show every
 * execution, including those whose answer never arrived. All answers are functions of the arguments.
 */

/** An error that tasks throw on purpose. */
export class Intended extends Error {
  constructor(token) {
    super(`${token} throws, as it was told to`);
    this.token = token;
  }
}

/** Appends one line in one write, which is safe even if others write to the file. */
export function note(folder, token) {
  appendFileSync(join(folder, String(process.pid)), `${token}\n`);
}

/** The answer of a task to a number. */
export function mix(token, number) {
  let state = number | 0;
  for (let i = 0; i < token.length; i++) state = Math.imul(state ^ token.charCodeAt(i), 0x01000193) >>> 0;
  return state;
}

/** The answer of a task to bytes, computed in place. */
export function flip(bytes) {
  for (let i = 0; i < bytes.length; i++) bytes[i] ^= 0x5a;
  return bytes;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const compute = routine(async (folder, token, number, ms) => {
  note(folder, token);
  if (ms > 0) await pause(ms);
  return mix(token, number);
});

export const burn = routine(async (folder, token, number, ms) => {
  note(folder, token);
  const end = performance.now() + ms;
  while (performance.now() < end);
  return mix(token, number);
});

export const echoBytes = routine(async (folder, token, bytes) => {
  note(folder, token);
  return flip(bytes);
});

export const fail = routine(async (folder, token) => {
  note(folder, token);
  throw new Intended(token);
});

/** Takes far longer than any caller waits, unless it is told to stop. */
export const linger = routine(async (folder, token, ms) => {
  note(folder, token);
  const { signal } = currentTask();
  await new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
  return mix(token, 0);
});

/** Calls itself twice on each level. */
export const divide = routine(async (folder, token, number, depth) => {
  note(folder, token);
  if (depth === 0) return mix(token, number);
  const nested = divide.with({ timeout: 4000, dispatchTimeout: 4000 });
  const parts = await Promise.all([0, 1].map((i) => nested(folder, `${token}.${i}`, number + i, depth - 1)));
  return parts.reduce((sum, part) => (sum + part) >>> 0, 0);
});

/** The answer of `divide`, and the tokens of all its tasks. */
export function expectDivide(token, number, depth) {
  if (depth === 0) return { value: mix(token, number), tokens: [token] };
  const parts = [0, 1].map((i) => expectDivide(`${token}.${i}`, number + i, depth - 1));
  return {
    value: parts.reduce((sum, { value }) => (sum + value) >>> 0, 0),
    tokens: [token, ...parts.flatMap(({ tokens }) => tokens)],
  };
}

/** Yields `count` numbers, and notes when it is closed. Throws after them if it was told to. */
export const stream = routine(async function* (folder, token, count, ms, throws) {
  note(folder, token);
  try {
    for (let i = 0; i < count; i++) {
      if (ms > 0) await pause(ms);
      yield mix(token, i);
    }
    if (throws) throw new Intended(token);
    return count;
  } finally {
    note(folder, `${token}.closed`);
  }
});

/** Answers each value sent to it. */
export const converse = routine(async function* (folder, token) {
  note(folder, token);
  let said = 0;
  for (;;) said = mix(token, yield said);
});

export const compute1 = routine(async ([folder, token, number]) => {
  note(folder, token);
  return mix(token, number);
});

export const endThread = routine(async (folder, token) => {
  note(folder, token);
  process.exit(7);
});

export const exhaustMemory = routine(async (folder, token) => {
  note(folder, token);
  const kept = [];
  for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })));
});

export const blockThread = routine(async (folder, token) => {
  note(folder, token);
  for (;;);
});

export const throwAstray = routine(async (folder, token) => {
  note(folder, token);
  setImmediate(() => {
    throw new Intended(token);
  });
  await pause(5);
  return mix(token, 1);
});

export const rejectAstray = routine(async (folder, token) => {
  note(folder, token);
  void Promise.reject(new Intended(token));
  await pause(5);
  return mix(token, 1);
});
