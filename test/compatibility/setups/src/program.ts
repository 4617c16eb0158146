// Parts of modules in every way that they are used. Each result must be the same in every set-up.

import * as os from "node:os";
import { basename } from "node:path";
import { routine, WorkerPool } from "wool-ts";
import barrel, { counter as again, raise, state, tell, twice } from "./barrel.ts";
import * as whole from "./counter.ts";
import describe, { counter, getId, id, LIMIT, last, makeCloser, reader, table, up } from "./counter.ts";
import { fromA } from "./ring-a.ts";
import { fromB } from "./ring-b.ts";
import { Fast, Level, Shape, Square, TooLarge, Units } from "./shapes.ts";
import { stamp, Vault } from "./vault.ts";

let calls = 0;
const add = (n: number): number => (calls += n);

class Local {
  static count = 0;
  n = 1;
  bump(): this {
    this.n += 1;
    Local.count += 1;
    return this;
  }
}

const jobs = {
  live: routine(async () => [
    up() > 0,
    counter === whole.counter,
    again === counter,
    state.counter === counter,
    last?.n === counter,
    table.get("n") === counter,
  ]),
  names: routine(async () => [
    raise() === counter,
    describe() === `at ${counter}`,
    tell() === describe(),
    reader.read() === counter,
    reader.up() === counter,
  ]),
  identity: routine(async () => [id === getId(), whole.id === id, state.id === id]),
  data: routine(async () => [LIMIT, twice, barrel.twice, barrel.name]),
  ownData: routine(async () => [...table.keys()].length),
  closer: routine(async (closer: () => number[]) => {
    const [own, n, inside] = closer();
    return [own, n === inside, closer()[0]];
  }),
  captured: routine(async (n: number) => [add(n), add(n), calls]),
  enums: routine(async (level: Level) => [Level[level], Level.High, Fast.Yes, Units.label(2), Units.state.uses > 0]),
  square: routine(async (shape: Shape) => [
    shape instanceof Square,
    shape instanceof Shape,
    String(shape),
    shape.area(),
  ]),
  makeSquare: routine(async (n: number) => new Square(n)),
  statics: routine(async () => [Shape.kinds.has("square"), typeof Shape.made]),
  fails: routine(async (n: number) => {
    if (n > LIMIT) throw new TooLarge(LIMIT, { cause: new Square(n) });
    return n;
  }),
  ring: routine(async (n: number) => [fromA(n), fromB(n)]),
  vault: routine(async (vault: Vault) => [vault.put(1).secret, vault instanceof Vault]),
  makeVault: routine(async (n: number) => new Vault(n).put(1)),
  symbol: routine(async (value: { [stamp]?: number }) => [value[stamp], Reflect.ownKeys(value)[0] === stamp]),
  local: routine(async (local: Local) => local.bump()),
  functions: routine(async (fn: () => number, cls: typeof Square) => [typeof fn(), cls === Square, new cls(2).area()]),
  builtin: routine(async (path: string) => [basename(path), typeof os.cpus, os.EOL.length, process.pid]),
  dynamic: routine(async () => {
    const later = await import("./later.ts");
    const [loads, n, c] = later.load();
    return [loads === later.loads, n === c, n === counter, later.label];
  }),
  nested: routine(async (n: number): Promise<number> => (n === 0 ? 0 : 1 + (await jobs.nested(n - 1)))),
  stream: routine(async function* (n: number) {
    for (let i = 0; i < n; i += 1) yield new Square(i);
  }),
};

export async function run(): Promise<unknown> {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const out: Record<string, unknown> = {};
    const vault = new Vault(5);
    const cases: Record<string, () => unknown> = {
      live: () => jobs.live(),
      live2: () => jobs.live(),
      names: () => jobs.names(),
      identity: () => jobs.identity(),
      data: () => jobs.data(),
      ownData: () => jobs.ownData(),
      closer: () => jobs.closer(makeCloser()),
      captured: async () => [await jobs.captured(2), await jobs.captured(3), calls],
      enums: () => jobs.enums(Level.Low),
      square: () => jobs.square(new Square(3)),
      makeSquare: async () => {
        const made = await jobs.makeSquare(4);
        return [made instanceof Square, made.area(), String(made)];
      },
      statics: async () => (new Square(1), await jobs.statics()),
      fails: async () => {
        const error = await jobs.fails(4).catch((reason) => reason);
        return [
          error instanceof TooLarge,
          error instanceof RangeError,
          error.name,
          error.message,
          error.limit,
          error.cause instanceof Square,
          await jobs.fails(2),
        ];
      },
      ring: () => jobs.ring(3),
      vault: async () => [await jobs.vault(vault), vault.secret],
      makeVault: async () => {
        const made = await jobs.makeVault(1);
        return [made instanceof Vault, made.secret];
      },
      symbol: () => jobs.symbol({ [stamp]: 1 }),
      local: async () => {
        const local = await jobs.local(new Local());
        return [local instanceof Local, local.n, Local.count];
      },
      functions: () => jobs.functions(up, Square),
      builtin: async () =>
        ((await jobs.builtin("/a/b.txt")) as unknown[]).map((each) =>
          each === process.pid ? "here" : typeof each === "number" && each > 1 ? "there" : each,
        ),
      dynamic: () => jobs.dynamic(),
      dynamic2: () => jobs.dynamic(),
      dynamicHere: async () => JSON.stringify(await jobs.dynamic.local()) === JSON.stringify(await jobs.dynamic()),
      nested: () => jobs.nested(2),
      stream: async () => {
        const areas: unknown[] = [];
        for await (const each of jobs.stream(3)) areas.push(each instanceof Square, each.area());
        return areas;
      },
      here: () => [calls, Local.count],
    };
    for (const [name, body] of Object.entries(cases)) {
      try {
        out[name] = await body();
      } catch (error) {
        out[name] = `FAILED ${String(error)}`.slice(0, 400);
      }
    }
    return out;
  } finally {
    await pool.stop();
  }
}
