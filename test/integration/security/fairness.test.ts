import { afterEach, describe, expect, test } from "vitest";
import { LocalWorker, routine, WorkerConnection, type WorkerOptions } from "wool-ts";
import { encode } from "../../../src/values/index.ts";
import { announce, task } from "../../support/announce.ts";
import { RawLaneSession } from "../../support/raw-lane.ts";
import { RawSession } from "../../support/raw-session.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

let worker: LocalWorker;
afterEach(async () => await worker.stop());

async function start(options: WorkerOptions = {}): Promise<string> {
  worker = new LocalWorker(options);
  await worker.start();
  return worker.address ?? "";
}

const add = routine(async (x: number, y: number) => x + y);
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
});
/** Blocks its thread for two milliseconds. */
const burn = (size: number): Uint8Array => {
  const end = performance.now() + 2;
  while (performance.now() < end);
  return new Uint8Array(size);
};
/** Blocks its thread for a fifth of one. */
const burnShortly = (size: number): Uint8Array => {
  const end = performance.now() + 0.2;
  while (performance.now() < end);
  return new Uint8Array(size);
};
const RESULT_BYTES = 100;
const TASKS = 3000;
const CONNECTIONS = 200;

function receivedBy(sessions: readonly RawSession[]): number {
  return sessions.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0);
}

/** What a polite caller does: calls one after the other, and a stream. */
async function bePolite(address: string): Promise<void> {
  await using connection = new WorkerConnection(address);
  for (let i = 0; i < 10; i++) expect(await connection.dispatch(add, i, 1)).toBe(i + 1);
  let last = -1;
  for await (const number of connection.dispatch(count, 10)) last = number;
  expect(last).toBe(9);
}

describe("a polite caller has its answers long before a greedy one has all of its own", () => {
  test.each([
    ["many calls", {}],
    ["many calls that wait for each other", { maxConcurrency: 1 }],
  ])("%s", async (_name, options) => {
    const address = await start(options);
    using greedy = new RawSession(address);
    greedy.read();
    // Two seconds of work, in one message.
    const tasks = Array.from({ length: TASKS }, (_, i) => task(i, [RESULT_BYTES]));
    greedy.send(announce(burn));
    greedy.send(Buffer.concat(tasks));
    await until(() => greedy.receivedBytes > 2 * RESULT_BYTES, "the greedy caller is being served");
    await bePolite(address);
    expect(greedy.receivedBytes).toBeLessThan(TASKS * RESULT_BYTES);
    await until(() => greedy.receivedBytes > TASKS * RESULT_BYTES, "the greedy caller has everything, too");
  });

  test.each([
    ["a stream", async (address: string) => new RawSession(address)],
    ["a lane", (address: string) => RawLaneSession.open(address)],
  ])("many calls in messages of their own, through %s", async (_name, open) => {
    const address = await start();
    using greedy = await open(address);
    greedy.read();
    greedy.send(announce(burnShortly));
    for (let i = 0; i < 10 * TASKS; i++) greedy.send(task(i, [RESULT_BYTES]));
    await until(() => greedy.receivedBytes > 2 * RESULT_BYTES, "the greedy caller is being served");
    const before = greedy.receivedBytes;
    await bePolite(address);
    // A dozen rounds of a call to the worker and back, a few turns of the greedy caller for each.
    expect((greedy.receivedBytes - before) / RESULT_BYTES).toBeLessThan(12 * 100);
  });

  test("many calls on each of very many connections", async () => {
    const address = await start();
    const greedy = Array.from({ length: CONNECTIONS }, () => new RawSession(address));
    const tasks = Buffer.concat(Array.from({ length: 300 }, (_, i) => task(i, [RESULT_BYTES])));
    for (const session of greedy) {
      session.read();
      session.send(announce(burnShortly));
      session.send(tasks);
    }
    await until(() => greedy.every(({ receivedBytes }) => receivedBytes > RESULT_BYTES), "all are being served");
    const before = receivedBy(greedy);
    await bePolite(address);
    // A dozen rounds of a call to the worker and back: about 15,000. With two milliseconds for each session it is 61,000.
    expect((receivedBy(greedy) - before) / RESULT_BYTES).toBeLessThan(30_000);
    for (const session of greedy) session[Symbol.dispose]();
  });

  test("streams without an end", async () => {
    const address = await start();
    using greedy = new RawSession(address);
    greedy.read();
    greedy.send(
      announce(function* () {
        for (;;) yield 1;
      }),
    );
    for (let id = 0; id < 5; id++) {
      greedy.send(task(id, []));
      greedy.send(request({ credits: [{ id, steps: 900_000 }] }));
    }
    await until(() => greedy.receivedBytes > 1000, "the greedy caller is being served");
    await bePolite(address);
  });

  test("bulk", async () => {
    const address = await start();
    using greedy = new RawSession(address);
    greedy.read();
    greedy.send(announce((bytes: Uint8Array) => bytes));
    const payload = Buffer.from(encode([new Uint8Array(20_000_000)]));
    const sending = (async () => {
      for (let id = 0; id < 8; id++) {
        const chunks = Math.ceil(payload.length / 100_000);
        await greedy.pour(chunks, (i) =>
          request({
            chunks: [
              {
                id,
                data: payload.subarray(i * 100_000, (i + 1) * 100_000),
                total: i === 0 ? BigInt(payload.length) : 0n,
              },
            ],
          }),
        );
        greedy.send(request({ tasks: [{ id, route: 1, chunked: BigInt(payload.length), sequence: BigInt(id + 1) }] }));
      }
    })();
    await until(() => greedy.receivedBytes > 100_000, "the greedy caller is being served");
    await bePolite(address);
    expect(greedy.receivedBytes).toBeLessThan(7 * payload.length);
    await sending;
  });
});
