import { importWithCopy } from "./built-copy.mjs";

const ASKED = /(?<!function )\bareTasksObserved\(\)/g;
const TOLD = /\btask\.stages\?\./g;
const SWITCH = "let woolAsks = true; (globalThis.woolSwitches ??= []).push((asks) => { woolAsks = asks; });\n";

/**
 * A copy of wool-ts in which the cost of task events without listeners can be switched off: the check for listeners,
 * and the reports of each task's stages. Reading the switch costs less than either, but not nothing.
 */
export async function open() {
  const switched = { asked: 0, told: 0 };
  const { open: openCopy, remove } = await importWithCopy(["wool-switched.mjs"], (text, name) => {
    // This benchmark does not use the worker that bundled programs carry.
    if (name === "embedded-worker.js") return text;
    const by = (kind, code) => () => {
      switched[kind]++;
      return code;
    };
    const changed = text
      .replace(ASKED, by("asked", "(woolAsks && areTasksObserved())"))
      .replace(TOLD, by("told", "if (woolAsks) task.stages?."));
    return changed === text ? text : SWITCH + changed;
  });
  if (switched.asked < 3 || switched.told < 8) throw new Error(`too little is switched: ${JSON.stringify(switched)}`);
  const contender = await openCopy();
  return {
    ...contender,
    close: async () => {
      await contender.close();
      remove();
    },
  };
}
