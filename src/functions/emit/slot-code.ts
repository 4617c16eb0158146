/** Source text around a piece of code that gives it its captured variables. */
export interface SlotCode {
  readonly declaration: string;
  /** A function that sets them from an array. */
  readonly fill: string;
  /** A function that returns them as an array. */
  readonly read: string;
}

/** Declares captured variables as real ones, so that code uses them as fast as it did where it was written. */
export function slotCode(slots: readonly string[], isStrict: boolean): SlotCode {
  let parameter = "values";
  while (slots.includes(parameter)) parameter += "$";
  return {
    // In sloppy code a variable may be called `let`.
    declaration: slots.length === 0 ? "" : `${isStrict ? "let" : "var"} ${slots.join()};`,
    fill: `${parameter}=>{${slots.map((name, index) => `${name}=${parameter}[${index}];`).join("")}}`,
    read: `()=>[${slots.join()}]`,
  };
}
