import { expect, test } from "vitest";
import { restoreWeakState } from "./weak-state.ts";

class Known {}

test("state for which there is no collection is refused with the name of the variable", () => {
  for (const name of ["@0 nothing", "@7 nothing"]) {
    expect(() => restoreWeakState(new Known(), { owner: Known, names: [name], values: [1] })).toThrow(
      'the sender keeps the state of an instance of Known in the variable "nothing", and the module of Known here has no ' +
        "WeakMap or WeakSet of that name. Install the same version of it, or send plain data.",
    );
  }
});
