export enum Level {
  Low = 1,
  High = 2,
}
export const enum Fast {
  Yes = "yes",
}
export namespace Units {
  export const km = "km";
  export const state = { uses: 0 };
  export function label(n: number): string {
    state.uses += 1;
    return `${n} ${km}`;
  }
}
export abstract class Shape {
  static made = 0;
  static readonly kinds = new Set<string>();
  constructor(readonly name: string) {
    Shape.made += 1;
    Shape.kinds.add(name);
  }
  abstract area(): number;
  toString(): string {
    return `${this.name} ${this.area()}`;
  }
}
export class Square extends Shape {
  constructor(readonly side: number) {
    super("square");
  }
  area(): number {
    return this.side ** 2;
  }
}
export class TooLarge extends RangeError {
  override name = "TooLarge";
  constructor(
    readonly limit: number,
    options?: ErrorOptions,
  ) {
    super(`more than ${limit}`, options);
  }
}
