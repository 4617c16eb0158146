import { Script } from "node:vm";

/**
 * Globals of Node.js itself. The build has all code of the runtime use these instead of the globals of the same names
 * (`scripts/build.mjs`), so that a program that replaces the globals does not stop the runtime: fake timers, packages that
 * bring promises of their own, a DOM with its own URLs. In a realm of a test runner they may have been replaced before; the
 * main realm has the real ones.
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
// What async functions return is of this realm.
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
