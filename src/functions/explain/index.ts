export { type ExplainOptions, instanceNotes, notesOn } from "./explain.ts";
export type { ExplainedPart, Explanation, Refusal } from "./explanation.ts";
export { newlyMissedSettings, notePreparation, settingNote } from "./package-settings.ts";
export { shipping } from "./shipping.ts";
export { registerValueScale, type Weighed, type WeighOptions } from "./value-scale.ts";
