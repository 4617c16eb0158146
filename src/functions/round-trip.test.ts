import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { functionPort } from "../values/function-port.ts";
import { ValueDecoder, ValueEncoder } from "../values/index.ts";
import { acceptDependency, assemble, type PlainData } from "./index.ts";

// Properties are tried many times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

type Step = () => unknown;

/** Takes functions apart and makes copies of them in this same process. */
function copyOf(functions: readonly Step[]): Step[] {
  const encoder = new ValueEncoder(functionPort());
  const bytes = Uint8Array.from(encoder.encode(functions));
  for (const dependency of encoder.dependencies) void acceptDependency(dependency);
  const port = {
    ...functionPort(),
    assemble: (head: PlainData, early: readonly unknown[]) => assemble(foreign(head), early),
  };
  return new ValueDecoder(port).decode(bytes) as Step[];
}

/** Makes a head look foreign: a function that comes back to its origin would be the original. */
function foreign(head: PlainData): PlainData {
  if (typeof head !== "object" || head === null || !("id" in head)) return head;
  return { ...head, id: `elsewhere-${String(head.id)}` };
}

/** Writes random programs out of nested scopes, shadowed names, closures and assignments. */
class ProgramWriter {
  readonly #next: () => number;
  #depth = 0;

  constructor(choices: readonly number[]) {
    let at = 0;
    this.#next = () => {
      at += 1;
      return choices[at % choices.length] ?? 0;
    };
  }

  #pick<T>(options: readonly T[]): T {
    const chosen = options[this.#next() % options.length];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }

  program(): string {
    return `const made = [];\n${this.#statements(new Map(), 6)}\nreturn made;`;
  }

  #statements(outer: ReadonlyMap<string, "let" | "const">, count: number): string {
    const visible = new Map(outer);
    const lines: string[] = [];
    this.#depth += 1;
    // Declared before anything else, so that nothing is used before it is initialised.
    for (const name of ["a", "b", "c", "d"]) {
      if (this.#next() % 2 === 0) lines.push(this.#declaration(visible, name));
    }
    for (let index = 0; index < count; index += 1) lines.push(this.#statement(visible));
    this.#depth -= 1;
    return lines.join("\n");
  }

  #statement(visible: ReadonlyMap<string, "let" | "const">): string {
    const kind = 2 + (this.#next() % 7);
    if (kind === 2) return this.#assignment(visible);
    if (kind === 3 && this.#depth < 3) return `{\n${this.#statements(visible, 3)}\n}`;
    if (kind === 4 && this.#depth < 3) return this.#loop(visible);
    if (kind === 5 && this.#depth < 3) return `(() => {\n${this.#statements(visible, 3)}\n})();`;
    return this.#closure(visible);
  }

  #declaration(visible: Map<string, "let" | "const">, name: string): string {
    const kind = this.#pick(["let", "const"] as const);
    visible.set(name, kind);
    return `${kind} ${name} = ${this.#next() % 3};`;
  }

  #loop(visible: ReadonlyMap<string, "let" | "const">): string {
    const inner = new Map(visible);
    inner.set("i", "let");
    return `for (let i = 0; i < 2; i += 1) {\n${this.#statements(inner, 2)}\n}`;
  }

  #assignment(visible: ReadonlyMap<string, "let" | "const">): string {
    const targets = [...visible].filter(([name, kind]) => kind === "let" && name !== "i").map(([name]) => name);
    if (targets.length === 0) return ";";
    const [one, other] = [this.#pick(targets), this.#pick(targets)];
    return this.#pick([
      `${one} += 1;`,
      `${one}++;`,
      `[${one}, ${other}] = [${other}, ${one}];`,
      `({ ${one} } = { ${one}: ${other} + 2 });`,
      `${one} = ${other} * 2 % 7;`,
    ]);
  }

  #closure(visible: ReadonlyMap<string, "let" | "const">): string {
    const names = [...visible.keys()];
    const body = `${this.#assignment(visible)} return [${names.join()}];`;
    const shadowed =
      names.length > 0 && this.#next() % 4 === 0 ? `const ${this.#pick(names)} = 40; return [${names.join()}];` : body;
    return this.#pick([
      `made.push(() => { ${body} });`,
      `made.push(function () { ${body} });`,
      `made.push(() => { ${shadowed} });`,
      `made.push({ method() { ${body} } }.method);`,
      `made.push((() => () => { ${body} })());`,
    ]);
  }
}

test("a class is copied with its private state, again and again", () => {
  class Account {
    static #opened = 0;
    static limit = { amount: 10 };
    #balance: number;
    readonly owner: string;
    constructor(owner: string, balance: number) {
      this.owner = owner;
      this.#balance = balance;
      Account.#opened += 1;
    }
    #add(amount: number): number {
      this.#balance += Math.min(amount, Account.limit.amount);
      return this.#balance;
    }
    deposit = (amount: number): number => this.#add(amount);
    get state(): unknown {
      return [this.owner, this.#balance, Account.#opened];
    }
    static isAccount(value: object): boolean {
      return #balance in value;
    }
  }
  class Savings extends Account {
    #balance = "another";
    override get state(): unknown {
      return [super.state, this.#balance];
    }
  }
  const account = new Savings("someone", 5);
  let steps: Step[] = [
    () => account.deposit(3),
    () => account.deposit(100),
    () => account.state,
    () => [Account.isAccount(account), Account.isAccount({}), account instanceof Savings],
    () => new Savings("other", 1).state,
  ];
  for (let generation = 0; generation < 3; generation += 1) steps = copyOf(steps);
  expect(steps.map((step) => step())).toEqual([
    8,
    18,
    [["someone", 18, 1], "another"],
    [true, false, true],
    [["other", 1, 2], "another"],
  ]);
  expect(account.state).toEqual([["someone", 5, 1], "another"]);
});

test("what a copy makes is copied too", () => {
  const limit = 4;
  const make = (step: number) => {
    let total = limit;
    return { add: () => (total += step), read: () => total, url: () => import.meta.url };
  };
  let maker = make;
  for (let generation = 0; generation < 3; generation += 1) {
    const [copied] = copyOf([maker as unknown as Step]);
    maker = copied as unknown as typeof make;
    const { add, read, url } = maker(generation + 1);
    const [copyOfAdd, copyOfRead, copyOfUrl] = copyOf([add, read, url]);
    expect([copyOfAdd?.(), copyOfAdd?.(), copyOfRead?.()]).toEqual([
      limit + generation + 1,
      limit + 2 * (generation + 1),
      limit + 2 * (generation + 1),
    ]);
    expect(copyOfUrl?.()).toBe(import.meta.url);
    expect(read()).toBe(limit);
  }
});

test.each([
  [
    "in a block",
    "{ let a = 0; let b = 2; made.push(() => { a = b + 2; return [a, b]; }, () => { b = (b * 2) % 7; return b; }); }",
  ],
  [
    "in a loop",
    "for (let i = 0; i < 2; i++) { let a = 0, b = 2; made.push(() => { a = b + i; return [a, b]; }, () => { b = (b * 2) % 7; return b; }); }",
  ],
  [
    "in a method and a nested function",
    "for (const i of [1, 2]) { let a = 0, b = 2; made.push({ m() { a = b + i; return [a, b]; } }.m); (() => made.push(() => { b++; return [b, i]; }))(); }",
  ],
])("functions share a variable although one of them has another for itself, %s", (_where, text) => {
  // oxlint-disable-next-line no-implied-eval -- programs are what is tested
  const make = new Function(`"use strict"; const made = []; ${text} return made;`) as () => Step[];
  const [reference, copies] = [make(), copyOf(make())];
  // Backwards, so that assignments come before reads.
  const order = [...reference.keys(), ...reference.keys()].reverse();
  expect(order.map((index) => copies[index]?.())).toEqual(order.map((index) => reference[index]?.()));
});

test("copies of functions do what the originals do, and share what they share", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { minLength: 40, maxLength: 80 }),
      fc.array(fc.nat(50), { minLength: 6, maxLength: 20 }),
      fc.integer({ min: 1, max: 3 }),
      (choices, calls, generations) => {
        const source = `"use strict";${new ProgramWriter(choices).program()}`;
        // oxlint-disable-next-line no-implied-eval -- programs are what is generated
        const make = new Function(source) as () => Step[];
        const reference = make();
        if (reference.length === 0) return;
        let copies = make();
        for (let generation = 0; generation < generations; generation += 1) copies = copyOf(copies);
        for (const call of calls) {
          const index = call % reference.length;
          expect(copies[index]?.(), `${source}\ncall ${index} of ${calls.join()}`).toEqual(reference[index]?.());
        }
      },
    ),
    { numRuns: 25 },
  );
});
