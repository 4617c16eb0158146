import {
  countedFunctions,
  type Dependency,
  dismantle,
  instanceNotes,
  newlyMissedSettings,
  notesOn,
  type ShippingPolicy,
  settingNote,
} from "../functions/index.ts";
import type { ValueEncoder } from "../values/index.ts";

const warned = new WeakSet<object>();

/**
 * Warns once of a function that calls itself by its own name, where the routine was probably meant, and of one that would
 * have two instances of a module.
 */
export function warnOfSource({ fn, name }: { readonly fn: object; readonly name: string }): void {
  if (warned.has(fn)) return;
  warned.add(fn);
  for (const note of notesOn(fn)) {
    process.emitWarning(note, { type: "WoolWarning", code: "WOOL_NAMED_RECURSION" });
  }
  for (const note of instanceNotes(fn)) {
    process.emitWarning(`the routine "${name}": ${note}`, { type: "WoolWarning", code: "WOOL_SECOND_INSTANCE" });
  }
}

/**
 * Warns once of each setting that this program makes in a package, and that workers do not make. Call it when a call has
 * ended: by then it is known which packages travel as code because the program has extended them.
 */
export function warnOfSettings(name: string, dependencies: readonly Dependency[]): void {
  for (const setting of newlyMissedSettings(dependencies)) {
    process.emitWarning(settingNote(name, setting), { type: "WoolWarning", code: "WOOL_PACKAGE_SETTING" });
  }
}

/** Beyond this, capturing takes a noticeable part of a second. */
const MANY_FUNCTIONS = 300;
const MANY_BYTES = 1_000_000;

/** The size of one capture. */
interface Size {
  readonly functions: number;
  readonly bytes: number;
}

function sizeOf(payload: Uint8Array, dependencies: readonly Dependency[], functions: number): Size {
  const code = dependencies.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
  return { functions, bytes: payload.length + code };
}

const isLarge = ({ functions, bytes }: Size): boolean => functions > MANY_FUNCTIONS || bytes > MANY_BYTES;

/**
 * Warns when a routine captured so much that it blocks the process. The warning names the largest variable and the fix.
 * Call it right after the routine was encoded, in the same capture.
 */
export function warnOfLargeCapture(
  routine: { readonly fn: object; readonly name: string },
  policy: ShippingPolicy,
  encoder: ValueEncoder,
  payload: Uint8Array,
): void {
  const size = sizeOf(payload, encoder.dependencies, countedFunctions());
  if (!isLarge(size)) return;
  const { parts, labels } = dismantle(routine.fn, policy);
  let largest = { label: "", size: { functions: 0, bytes: 0 } };
  for (const [index, part] of parts.entries()) {
    const label = labels[index] ?? "";
    const before = countedFunctions();
    const encoded = encoder.encode(part, label);
    const partSize = sizeOf(encoded, encoder.dependencies, countedFunctions() - before);
    if (partSize.bytes > largest.size.bytes) largest = { label, size: partSize };
  }
  const { label } = largest;
  const variable = label === "" ? "a lot of code or data" : `"${label}"`;
  process.emitWarning(
    `the routine "${routine.name}" captures ${variable}: ${describe(label === "" ? size : largest.size)}. Capturing and ` +
      `sending it blocks this process. Create it in each worker with perWorker(() => ...), pass large data with share(), ` +
      `or move it into a separate module, which workers load by themselves`,
    { type: "WoolWarning", code: "WOOL_LARGE_CAPTURE" },
  );
}

function describe({ functions, bytes }: Size): string {
  const kilobytes = `${Math.ceil(bytes / 1000).toLocaleString("en")} KB`;
  return functions > MANY_FUNCTIONS ? `${functions} functions, ${kilobytes}` : kilobytes;
}
