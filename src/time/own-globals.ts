/**
 * The clocks and timers of Node.js itself. The build has all code of the runtime use these instead of the globals of the
 * same names (`scripts/build.mjs`): a test that replaces the globals, as fake timers do, does not stop the runtime.
 * `getBuiltinModule` reaches them even where the globals were replaced before the runtime was loaded.
 */
const timers = process.getBuiltinModule("node:timers");
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = timers;
const { performance } = process.getBuiltinModule("node:perf_hooks");
const { nextTick } = process.getBuiltinModule("node:process");
const { now: dateNow } = Date;

/** No module of Node.js has the real one. */
function queueMicrotask(run: () => void): void {
  void Promise.resolve().then(run);
}

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
