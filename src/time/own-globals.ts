import { Script } from "node:vm";

/**
 * Globals of Node.js itself. The build (`scripts/build.mjs`) makes all code of the runtime use these instead of the
 * globals of the same names. So a program that replaces the globals does not break the runtime: with fake timers, a
 * package with its own promises, a DOM with its own URLs. A test runner may have replaced them in its realm already;
 * the main realm has the real ones.
 */
const main: typeof globalThis = new Script("globalThis").runInThisContext();
const { getBuiltinModule, nextTick } = main.process;
const { now: dateNow } = main.Date;
const { queueMicrotask } = main;
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } =
  getBuiltinModule("node:timers");
const { performance } = getBuiltinModule("node:perf_hooks");
const { Blob, File } = getBuiltinModule("node:buffer");
const { URL, URLSearchParams } = getBuiltinModule("node:url");
// Async functions return promises of this realm.
const Promise = (async () => undefined)().constructor as PromiseConstructor;

export {
  Blob,
  clearImmediate,
  clearInterval,
  clearTimeout,
  dateNow,
  File,
  nextTick,
  Promise,
  performance,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
  URL,
  URLSearchParams,
};
