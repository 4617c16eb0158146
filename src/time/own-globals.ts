import { Script } from "node:vm";

/**
 * The clocks and timers of Node.js itself. The build has all code of the runtime use these instead of the globals of the
 * same names (`scripts/build.mjs`): a test that replaces the globals, as fake timers do, does not stop the runtime. In a
 * realm of a test runner they may have been replaced before; the main realm has the real ones.
 */
const main: typeof globalThis = new Script("globalThis").runInThisContext();
const { nextTick } = main.process;
const { now: dateNow } = main.Date;
const { queueMicrotask } = main;
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } =
  main.process.getBuiltinModule("node:timers");
const { performance } = main.process.getBuiltinModule("node:perf_hooks");

export {
  clearImmediate,
  clearInterval,
  clearTimeout,
  dateNow,
  nextTick,
  performance,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
};
