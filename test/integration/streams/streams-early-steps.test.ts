import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

class Account {
  #balance = 7;
  get balance() {
    return this.#balance;
  }
}
class Overdrawn extends Error {
  #by = 3;
  get by() {
    return this.#by;
  }
}

const describeSent = routine(async function* (): AsyncGenerator<unknown, unknown, unknown> {
  let answer: unknown = "start";
  for (;;) {
    try {
      const sent: unknown = yield answer;
      if (sent instanceof Account) answer = ["account", sent.balance];
      else if (typeof sent === "function") answer = ["function", (sent as () => unknown)()];
      else answer = ["value", sent];
    } catch (error) {
      answer = error instanceof Overdrawn ? ["overdrawn", error.by] : ["error", error];
    }
  }
});

/** What the second step of a stream gives that is asked for together with the first. */
async function answerTo(
  step: (stream: AsyncGenerator<unknown, unknown, unknown>) => Promise<IteratorResult<unknown, unknown>>,
): Promise<unknown> {
  await using stream = describeSent();
  const first = stream.next();
  const second = step(stream);
  expect((await first).value).toBe("start");
  return (await second).value;
}

describe("a step that is asked for before the stream is open", () => {
  test("takes an instance with private fields along", async () => {
    expect(await answerTo((stream) => stream.next(new Account()))).toEqual(["account", 7]);
  });

  test("throws an error with private fields", async () => {
    expect(await answerTo((stream) => stream.throw(new Overdrawn("x")))).toEqual(["overdrawn", 3]);
  });

  test("takes an object along as it is then", async () => {
    const object = { a: 1 };
    const answer = answerTo((stream) => {
      const step = stream.next(object);
      object.a = 2;
      return step;
    });
    expect(await answer).toEqual(["value", { a: 1 }]);
  });

  test("takes a function along as it is then", async () => {
    const held = { n: 1 };
    const answer = answerTo((stream) => {
      const step = stream.next(() => held.n);
      held.n = 2;
      return step;
    });
    expect(await answer).toEqual(["function", 1]);
  });

  test("takes a large value along", async () => {
    const large = new Uint8Array(1_000_000).fill(3);
    const answer = answerTo((stream) => {
      const step = stream.next(large);
      large.fill(4);
      return step;
    });
    const [, arrived] = (await answer) as [string, Uint8Array];
    expect(arrived.length).toBe(1_000_000);
    expect(arrived.every((byte) => byte === 3)).toBe(true);
  });

  test("rejects when its value cannot travel, and the stream goes on", async () => {
    await using stream = describeSent();
    const steps = [stream.next(), stream.next(new WeakRef({})), stream.next(5)];
    expect(await Promise.allSettled(steps)).toMatchObject([
      { status: "fulfilled", value: { value: "start" } },
      { status: "rejected", reason: { name: "SerializationError" } },
      { status: "fulfilled", value: { value: ["value", 5] } },
    ]);
  });
});
