let calls = 0;
let connection: { readonly opened: number } | undefined;
let opened = 0;

/** Data that functions of its module use. */
export const table = new Map<string, number>();
export const settings = { unit: "m" };
export let live = 0;
export const limit = 10;

export function next(): number {
  calls += 1;
  return calls;
}

export function connect(): { readonly opened: number } {
  connection ??= { opened: ++opened };
  return connection;
}

export function register(name: string, value: number): void {
  table.set(name, value);
}

export function setLive(value: number): void {
  live = value;
}

export class Gauge {
  static made = 0;
  readonly value: number;
  constructor(value: number) {
    Gauge.made += 1;
    this.value = value;
  }
}

export const inner = {
  hits: 0,
  hit(): number {
    this.hits += 1;
    return this.hits;
  },
};

export default function describe(value: number): string {
  return `${value} ${settings.unit}`;
}
