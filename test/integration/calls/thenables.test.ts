import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContextVar, currentTask, routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

type Settle = (value?: unknown) => void;
type Then = (resolve: Settle, reject: Settle) => void;

/** The brackets say that the `then` is meant: it is often one by mistake. */
function thenable(then: Then): unknown {
  return { ["then"]: then };
}

const place = new ContextVar("thenables.place", { default: "nowhere" });
const double = routine(async (value: number) => 2 * value);

/** What to give back, and what `await` makes of it. */
const cases: Record<string, [() => unknown, unknown]> = {
  "resolves at once": [() => thenable((resolve) => resolve(1)), 1],
  "resolves later": [() => thenable((resolve) => setImmediate(resolve, 2)), 2],
  "resolves with a promise": [() => thenable((resolve) => resolve(Promise.resolve(5))), 5],
  "resolves with a promise that rejects": [
    () => thenable((resolve) => resolve(Promise.reject(new RangeError("inner")))),
    new RangeError("inner"),
  ],
  rejects: [() => thenable((_resolve, reject) => reject(new RangeError("no"))), new RangeError("no")],
  throws: [
    () =>
      thenable(() => {
        throw new RangeError("in then");
      }),
    new RangeError("in then"),
  ],
  "resolves and then throws": [
    () =>
      thenable((resolve) => {
        resolve(3);
        throw new RangeError("too late");
      }),
    3,
  ],
  "settles more than once": [
    () =>
      thenable((resolve, reject) => {
        resolve(4);
        resolve(5);
        reject(new RangeError("too late"));
      }),
    4,
  ],
  "cannot be asked": [
    () =>
      Object.defineProperty({}, "then", {
        get: () => {
          throw new RangeError("no then");
        },
      }),
    new RangeError("no then"),
  ],
  "is a function": [() => Object.assign(() => 1, { ["then"]: (resolve: Settle) => resolve("called") }), "called"],
  "is none": [() => Object.assign([1], { ["then"]: 5 }), Object.assign([1], { ["then"]: 5 })],
  "looks at its context": [
    () => thenable((resolve) => resolve([currentTask() !== undefined, place.get()])),
    [true, "here"],
  ],
  "makes a call": [() => thenable((resolve, reject) => void double(4).then(resolve, reject)), 8],
};

const kinds: Record<string, (make: () => unknown) => Promise<unknown>> = {
  "that a function gives back": routine((make: () => unknown) => make()) as never,
  "that a synchronous generator yields": async (make) => (await yieldIt(make).next()).value,
  "that a synchronous generator returns": async (make) => (await returnIt(make).next()).value,
};

const yieldIt = routine(function* (make: () => unknown): Generator<unknown, void, unknown> {
  yield make();
});
// oxlint-disable-next-line require-yield -- it has nothing to say before its end
const returnIt = routine(function* (make: () => unknown): Generator<never, unknown, unknown> {
  return make();
});
const wait = routine(async (key: string) => {
  await waitAtDoor(key);
  return "as ever";
});
const open = routine(async (key: string) => openDoor(key));

describe.each(Object.entries(kinds))("a thenable %s is awaited", (kind, call) => {
  test.each(Object.entries(cases))("when it %s", async (name, [make, expected]) => {
    const bystander = wait(`${kind} ${name}`);
    const outcome = await place.run("here", () => call(make)).catch((error: unknown) => error);
    expect(outcome).toEqual(expected);
    await open(`${kind} ${name}`);
    expect(await bystander).toBe("as ever");
  });
});
