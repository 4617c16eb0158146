import { registerRuntimeExports } from "./runtime-exports.ts";

/**
 * A captured variable that some function assigns to. The functions that share the variable share the cell, so an
 * assignment in one is seen by the others, here as at the other side.
 */
export class Cell {
  v: unknown;

  constructor(v?: unknown) {
    this.v = v;
  }
}

registerRuntimeExports("wool-ts/functions", { Cell });
