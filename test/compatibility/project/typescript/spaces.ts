export * as levels from "./level.js";

export namespace Shapes {
  let drawn = 0;
  export function draw(): number {
    drawn += 1;
    return drawn;
  }
}
