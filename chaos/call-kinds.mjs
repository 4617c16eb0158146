import { Abandoned } from "./call-log.mjs";
import {
  burn,
  compute,
  compute1,
  converse,
  divide,
  echoBytes,
  expectDivide,
  fail,
  flip,
  linger,
  mix,
  stream,
} from "./tasks.mjs";

/** The timeout of every call, in milliseconds. */
const TIMEOUT_MS = 5000;
const DISPATCH_TIMEOUT_MS = 4000;
/** How much longer than its limits a call may take, in milliseconds: the machine is busy. */
const SLACK_MS = 3000;
const BOUND_MS = TIMEOUT_MS + DISPATCH_TIMEOUT_MS + SLACK_MS;

const LIMITS = { timeout: TIMEOUT_MS, dispatchTimeout: DISPATCH_TIMEOUT_MS };

const MOST_BYTES = 20 * 1024 * 1024;
const bytes = new Uint8Array(MOST_BYTES).map((_, i) => (i * 31 + (i >> 8)) & 255);
const flipped = flip(bytes.slice());

/**
 * The calls that are made. `run` makes one: `via` is the pool or proxy, `random` the generator of the client. It
 * resolves with `ran`, the tokens that must have been noted; `closes`, the tokens that must have been noted unless the
 * worker was lost; and `wrong`, what is wrong with the answer.
 */
export const CALL_KINDS = [
  {
    kind: "compute",
    weight: 30,
    async run({ token, folder, via, random }) {
      const number = random.integer(0, 1e6);
      const answer = await compute.with({ ...LIMITS, pool: via })(folder, token, number, random.integer(0, 30));
      return { ran: [token], wrong: differs(answer, mix(token, number)) };
    },
  },
  {
    kind: "burn",
    weight: 6,
    async run({ token, folder, via, random }) {
      const number = random.integer(0, 1e6);
      const answer = await burn.with({ ...LIMITS, pool: via })(folder, token, number, random.integer(1, 8));
      return { ran: [token], wrong: differs(answer, mix(token, number)) };
    },
  },
  {
    kind: "idempotent",
    weight: 10,
    idempotent: true,
    // Each of the two tries has its own time.
    bound: BOUND_MS + TIMEOUT_MS,
    async run({ token, folder, via, random }) {
      const number = random.integer(0, 1e6);
      const again = compute.with({ ...LIMITS, pool: via, idempotent: true });
      const answer = await again(folder, token, number, random.integer(0, 30));
      return { ran: [token], wrong: differs(answer, mix(token, number)) };
    },
  },
  {
    kind: "throw",
    weight: 5,
    expected: ["Intended"],
    async run({ token, folder, via }) {
      await fail.with({ ...LIMITS, pool: via })(folder, token);
    },
  },
  {
    kind: "nested",
    weight: 6,
    async run({ token, folder, via, random }) {
      const number = random.integer(0, 1e6);
      const depth = random.integer(1, 3);
      const answer = await divide.with({ ...LIMITS, pool: via })(folder, token, number, depth);
      const { value, tokens } = expectDivide(token, number, depth);
      return { ran: tokens, wrong: differs(answer, value) };
    },
  },
  {
    kind: "bytes",
    weight: 6,
    async run({ token, folder, via, random }) {
      const size = random.pick([1000, 70_000, 70_000, 300_000, 300_000, 1_000_000]);
      return await echo(token, folder, via, size, random.integer(0, MOST_BYTES - size));
    },
  },
  {
    kind: "many-bytes",
    weight: 0.15,
    bound: 2 * BOUND_MS,
    async run({ token, folder, via }) {
      return await echo(token, folder, via, MOST_BYTES, 0, 2);
    },
  },
  {
    kind: "cancel",
    weight: 6,
    expected: ["Abandoned", "ok"],
    async run({ token, folder, via, random }) {
      const controller = new AbortController();
      const reason = new Abandoned(`${token} is not wanted any more`);
      const timer = setTimeout(() => controller.abort(reason), random.integer(0, 60));
      try {
        const call = linger.with({ ...LIMITS, pool: via, signal: controller.signal });
        const answer = await call(folder, token, random.pick([10, 20_000]));
        return { ran: [token], wrong: differs(answer, mix(token, 0)) };
      } catch (error) {
        if (error instanceof Abandoned && error !== reason) return { wrong: "another reason than its signal's" };
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
  },
  {
    kind: "timeout",
    weight: 3,
    expected: ["TaskTimeout"],
    async run({ token, folder, via, random }) {
      const timeout = random.integer(20, 200);
      await linger.with({ ...LIMITS, pool: via, timeout })(folder, token, 20_000);
    },
  },
  {
    kind: "stream",
    weight: 8,
    async run({ token, folder, via, random, waitFor }) {
      const prefetch = random.pick([0, 0, 4]);
      const count = random.integer(0, 8);
      const items = stream.with({ ...LIMITS, pool: via, prefetch })(folder, token, count, random.integer(0, 4), false);
      for (let i = 0; ; i++) {
        waitFor(`item ${i} of ${count}`);
        const { done, value } = await items.next();
        if (done) return { ran: [token, `${token}.closed`], wrong: differs(value, count) ?? differs(i, count) };
        if (value !== mix(token, i)) return { wrong: `item ${i}: ${differs(value, mix(token, i))}` };
      }
    },
  },
  {
    kind: "stream-throw",
    weight: 3,
    expected: ["Intended"],
    async run({ token, folder, via, random, waitFor }) {
      const count = random.integer(0, 4);
      const items = stream.with({ ...LIMITS, pool: via })(folder, token, count, 0, true);
      for (let i = 0; i <= count; i++) {
        waitFor(`item ${i} of ${count}`);
        await items.next();
      }
    },
  },
  {
    kind: "stream-close",
    weight: 5,
    async run({ token, folder, via, random, waitFor }) {
      const taken = random.integer(1, 4);
      const prefetch = random.pick([0, 3]);
      const items = stream.with({ ...LIMITS, pool: via, prefetch })(folder, token, 100, random.integer(0, 4), false);
      for (let i = 0; i < taken; i++) {
        waitFor(`item ${i}`);
        const { done, value } = await items.next();
        if (done || value !== mix(token, i)) return { wrong: `item ${i}: ${differs(value, mix(token, i))}` };
      }
      waitFor("return()");
      const { done } = await items.return();
      return { ran: [token], closes: [`${token}.closed`], wrong: differs(done, true) };
    },
  },
  {
    kind: "converse",
    weight: 4,
    async run({ token, folder, via, random, waitFor }) {
      const partner = converse.with({ ...LIMITS, pool: via })(folder, token);
      waitFor("the first step");
      await partner.next();
      for (let i = random.integer(1, 5); i > 0; i--) {
        waitFor(`an answer to ${i}`);
        const { value } = await partner.next(i);
        if (value !== mix(token, i)) return { wrong: differs(value, mix(token, i)) };
      }
      waitFor("return()");
      await partner.return();
      return { ran: [token] };
    },
  },
  {
    kind: "map",
    weight: 3,
    bound: 3 * BOUND_MS,
    pools: true,
    async run({ token, folder, via, random, waitFor }) {
      const items = Array.from({ length: random.integer(1, 12) }, (_, i) => [folder, `${token}.${i}`, i]);
      const options = { ...LIMITS, concurrency: 4, ordered: random.pick([true, false]) };
      const answers = [];
      for await (const answer of via.map(compute1, items, options)) {
        answers.push(answer);
        waitFor(`result ${answers.length} of ${items.length}`);
      }
      const expected = items.map(([, itemToken, i]) => mix(itemToken, i));
      const sort = (list) => (options.ordered ? list : list.toSorted((a, b) => a - b));
      const ran = items.map(([, itemToken]) => itemToken);
      return { ran, wrong: differs(sort(answers).join(), sort(expected).join()) };
    },
  },
  {
    // Without options, so that the items travel in packs.
    kind: "packs",
    weight: 3,
    bound: 4 * BOUND_MS,
    pools: true,
    async run({ token, folder, via, random, waitFor }) {
      const items = Array.from({ length: random.integer(100, 1500) }, (_, i) => [folder, `${token}.${i}`, i]);
      let seen = 0;
      for await (const answer of via.map(compute1, items)) {
        const [, itemToken, i] = items[seen];
        if (answer !== mix(itemToken, i)) return { wrong: `item ${i}: ${differs(answer, mix(itemToken, i))}` };
        seen++;
        waitFor(`result ${seen} of ${items.length}`);
      }
      return { ran: items.map(([, itemToken]) => itemToken), wrong: differs(seen, items.length) };
    },
  },
  {
    // Without options, and all at once, so that they are joined into packs.
    kind: "burst",
    weight: 3,
    bound: 4 * BOUND_MS,
    pools: true,
    async run({ token, folder, via, random }) {
      const count = random.integer(20, 250);
      const calls = Array.from({ length: count }, (_, i) => via.dispatch(compute1, [folder, `${token}.${i}`, i]));
      const answers = await Promise.all(calls);
      const wrong = answers.findIndex((answer, i) => answer !== mix(`${token}.${i}`, i));
      return {
        ran: answers.map((_, i) => `${token}.${i}`),
        wrong: wrong < 0 ? undefined : `call ${wrong}: ${differs(answers[wrong], mix(`${token}.${wrong}`, wrong))}`,
      };
    },
  },
].map((each) => ({ bound: BOUND_MS, expected: ["ok"], idempotent: false, pools: false, ...each }));

/** `patience`: how much longer than other calls this one may take, in milliseconds. */
async function echo(token, folder, via, size, from, patience = 1) {
  const limits = { timeout: patience * TIMEOUT_MS, dispatchTimeout: patience * DISPATCH_TIMEOUT_MS };
  const answer = await echoBytes.with({ ...limits, pool: via })(folder, token, bytes.slice(from, from + size));
  const right = Buffer.compare(answer, flipped.subarray(from, from + size)) === 0;
  return { ran: [token], wrong: right ? undefined : `${answer.length} bytes came back, not the right ones` };
}

function differs(found, expected) {
  return found === expected ? undefined : `${JSON.stringify(found)} and not ${JSON.stringify(expected)}`;
}
