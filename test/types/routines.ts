import { type CallOptions, type Routine, routine, type StreamRoutine } from "wool-ts";
import { type Equal, type Expect, expectType, type IsAny } from "./expect-type.ts";

interface User {
  readonly id: number;
  readonly name?: string;
}

// Asynchronous functions keep their signature.
const load = routine(async (id: number, ...tags: string[]): Promise<User> => ({ id, name: tags.join() }));
expectType<Promise<User>>()(load(1, "a", "b"));
expectType<Promise<User>>()(load.local(1));
expectType<Promise<User>>()(load.with({ timeout: 5 })(1, "a"));
expectType<Promise<User>>()(load.with({}).with({ key: "k" }).local(1));
expectType<[id: number, ...tags: string[]]>()([1] as Parameters<typeof load>);
// @ts-expect-error -- an argument is missing
void load();
// @ts-expect-error -- an argument is of the wrong type
void load("1");
// @ts-expect-error -- an argument is of the wrong type for local, too
void load.local("1");
// @ts-expect-error -- an argument is of the wrong type after with, too
void load.with({})(true);

// What is not annotated is inferred, without any.
const add = routine(async (x: number, y: number) => x + y);
expectType<Promise<number>>()(add(1, 2));
export type AddIsTyped = Expect<Equal<IsAny<ReturnType<typeof add>>, false>>;

// Synchronous functions become asynchronous.
const length = routine((text: string) => text.length);
expectType<Promise<number>>()(length("a"));
expectType<Promise<number>>()(length.local("a"));
expectType<Promise<number>>()(length.with({})("a"));
const nothing = routine(() => undefined);
expectType<Promise<undefined>>()(nothing());
const sometimes = routine((n: number): number | Promise<number> => n);
expectType<Promise<number>>()(sometimes(1));
const never = routine((message: string): never => {
  throw new Error(message);
});
expectType<Promise<never>>()(never("x"));

// Optional parameters, and parameters with defaults.
const greet = routine(async (name: string, greeting?: string) => `${greeting} ${name}`);
expectType<Promise<string>>()(greet("a"));
expectType<Promise<string>>()(greet("a", undefined));
const defaults = routine(async (x = 5, { y = 6 } = {}) => x + y);
expectType<Promise<number>>()(defaults());
expectType<Promise<number>>()(defaults(1, { y: 2 }));
// @ts-expect-error -- the type of the default is the type of the parameter
void defaults("1");

// Generic functions stay generic.
const first = routine(async <T>(items: readonly T[]): Promise<T | undefined> => items[0]);
expectType<Promise<string | undefined>>()(first(["a"]));
expectType<Promise<User | undefined>>()(first.with({ timeout: 1 })([{ id: 1 }] as User[]));
const pick = routine(async <T, K extends keyof T>(value: T, key: K): Promise<T[K]> => value[key]);
expectType<Promise<number>>()(pick({ a: 1, b: "x" }, "a"));
// @ts-expect-error -- the constraint of the type parameter holds
void pick({ a: 1 }, "b");

// Overloads stay overloads.
function parse(text: string): Promise<number>;
function parse(texts: string[]): Promise<number[]>;
async function parse(input: string | string[]): Promise<number | number[]> {
  return typeof input === "string" ? Number(input) : input.map(Number);
}
const parsed = routine(parse);
expectType<Promise<number>>()(parsed("1"));
expectType<Promise<number[]>>()(parsed(["1"]));
expectType<Promise<number[]>>()(parsed.with({})(["1"]));
// @ts-expect-error -- no overload takes a number
void parsed(1);

// Generators keep what they yield, return and are sent.
const echo = routine(async function* (start: number): AsyncGenerator<number, string, boolean> {
  const sent: boolean = yield start;
  return String(sent);
});
expectType<AsyncGenerator<number, string, boolean>>()(echo(1));
expectType<AsyncGenerator<number, string, boolean>>()(echo.local(1));
expectType<AsyncGenerator<number, string, boolean>>()(echo.with({ prefetch: 2 })(1));
expectType<Promise<IteratorResult<number, string>>>()(echo(1).next(true));
// @ts-expect-error -- what is sent is a boolean
void echo(1).next("yes");
// @ts-expect-error -- an argument is of the wrong type
void echo("1");

const counting = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
  return "end";
});
export async function consume(): Promise<void> {
  for await (const value of counting(3)) expectType<number>()(value);
  const step = await counting(3).next();
  if (step.done === true) expectType<string>()(step.value);
  else expectType<number>()(step.value);
}

// Synchronous generators become asynchronous ones.
const letters = routine(function* (to: number): Generator<string, number, undefined> {
  yield "a";
  return to;
});
expectType<AsyncGenerator<string, number, undefined>>()(letters(1));
expectType<AsyncGenerator<string, number, undefined>>()(letters.with({})(1));

// Generic generators stay generic.
const each = routine(async function* <T>(items: readonly T[]): AsyncGenerator<T, void, void> {
  yield* items;
});
expectType<AsyncGenerator<string, void, void>>()(each(["a"]));

// The interfaces that have names fit what routine() makes.
export const asRoutine: Routine<[number, number], number> = add;
export const asStream: StreamRoutine<[number], number, string, boolean> = echo;
export const asFunction: (x: number, y: number) => Promise<number> = add;

// Options are checked.
routine(async () => 1, { name: "a", timeout: 1, dispatchTimeout: 1, idempotent: true, ship: "value", prefetch: 1 });
routine(async () => 1, {
  serializer: { dumps: (value) => Buffer.from(String(value)), loads: (bytes) => bytes.length },
});
// @ts-expect-error -- there is no such option
routine(async () => 1, { timeuot: 5 });
// @ts-expect-error -- a signal is an option of a call
routine(async () => 1, { signal: new AbortController().signal });
// @ts-expect-error -- there is no such way to ship
routine(async () => 1, { ship: "boat" });
// @ts-expect-error -- not a function
routine("add");
// @ts-expect-error -- not a function
routine(5);
// @ts-expect-error -- there is no such option
load.with({ retries: 3 });
// @ts-expect-error -- not a pool
load.with({ pool: {} });

const options: CallOptions = { signal: new AbortController().signal, key: "k", timeout: 5 };
// @ts-expect-error -- options are read-only
options.timeout = 6;

// Functions that workers have, in any language.
const shopAdd = routine.at<(x: number, y: number) => number>("py:shop:add", { timeout: 5 });
expectType<Routine<[x: number, y: number], number>>()(shopAdd);
expectType<Promise<number>>()(shopAdd(1, 2));
const shopCount = routine.at<(limit: number) => AsyncGenerator<number, string, boolean>>("py:shop:count", {
  streams: true,
});
expectType<StreamRoutine<[limit: number], number, string, boolean>>()(shopCount);
const shopThrow = routine.at<() => never>("py:shop:order");
expectType<Promise<never>>()(shopThrow());
const untyped = routine.at("node:./shop.mjs#add");
expectType<Promise<unknown>>()(untyped(1, "a"));
// @ts-expect-error -- a generator must be named as one
routine.at<() => AsyncGenerator<number>>("py:shop:count");
// @ts-expect-error -- and a function must not
routine.at<() => number>("py:shop:add", { streams: true });
// @ts-expect-error -- no code travels
routine.at<() => number>("py:shop:add", { ship: "value" });
