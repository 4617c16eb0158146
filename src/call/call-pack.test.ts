import { describe, expect, it } from "vitest";
import { WorkerLost } from "../errors.ts";
import type { Route } from "../routine/index.ts";
import { Payload } from "../wire/index.ts";
import { Call } from "./call.ts";
import { CallGroup } from "./call-group.ts";
import { CallPack } from "./call-pack.ts";
import type { CallOwner, Recipient } from "./call-parties.ts";
import { errorOf } from "./remote-failure.ts";

const route = { name: "add", number: 1, dependencies: [], code: new Uint8Array() } as unknown as Route;
const owner: CallOwner = {
  withdraw: () => undefined,
  rejected: (call, error) => call.fail(error),
  returned: (call, error) => call.fail(error),
  remade: () => undefined,
  lost: (call, error) => call.lose(owner, error),
};

function make() {
  const told: unknown[] = [];
  const group = new CallGroup();
  const pack = new CallPack([1, 2, 3], {
    succeeded: (first, values) => values.forEach((value, i) => void told.push([first + i, value])),
    failed: (index, failure) => told.push([index, errorOf(failure)]),
  });
  const call = new Call(
    route,
    group,
    () => expect.unreachable(),
    (failure) => pack.fail(failure),
    pack,
  );
  call.args = Payload.inMemory(Buffer.from("abbccc"));
  const recipient: Recipient = { uid: "w", tally: { inFlight: 0, done: 0, failed: 0 } };
  const cancelled: unknown[] = [];
  const task = { cancel: (reason: unknown) => cancelled.push(reason) } as unknown as NonNullable<Call["task"]>;
  call.waitAt(owner);
  return { told, group, pack, call, recipient, task, cancelled };
}

describe("a pack of calls", () => {
  it("ends with the last of its calls, and counts each", () => {
    const { told, group, call, recipient, task } = make();
    call.send(task, recipient);
    expect([call.size, recipient.tally.inFlight]).toEqual([3, 3]);
    expect(call.returnItems(1, ["b"])).toBe(true);
    expect(call.failItem(0, new RangeError("a"))).toBe(true);
    expect([call.state, recipient.tally]).toEqual(["sent", { inFlight: 1, done: 1, failed: 1 }]);
    call.leave();
    expect(call.returnItems(2, ["c"])).toBe(true);
    expect([call.state, group.size, recipient.tally]).toEqual(["ended", 0, { inFlight: 0, done: 2, failed: 1 }]);
    expect(told).toEqual([
      [1, "b"],
      [0, new RangeError("a")],
      [2, "c"],
    ]);
  });

  it("knows no call twice, and none that it does not have", () => {
    const { call, recipient, task, told } = make();
    call.send(task, recipient);
    call.returnItems(1, ["b"]);
    expect([call.returnItems(1, ["b"]), call.returnItems(3, ["d"]), call.returnItems(-1, ["z"])]).toEqual([
      false,
      false,
      false,
    ]);
    expect(told).toEqual([[1, "b"]]);
  });

  it("fails in all calls that are left", () => {
    const { call, recipient, task, told } = make();
    call.send(task, recipient);
    call.returnItems(1, ["b"]);
    call.leave();
    call.owner?.lost(call, new WorkerLost("gone"));
    expect(told.slice(1)).toEqual([
      [0, expect.any(WorkerLost)],
      [2, expect.any(WorkerLost)],
    ]);
    expect([call.state, recipient.tally.inFlight]).toEqual(["ended", 0]);
    // An answer that was still being read comes too late.
    expect(call.returnItems(0, ["a"])).toBe(true);
    expect(told).toHaveLength(3);
  });

  it("is numbered call by call", () => {
    const { call } = make();
    const next = new Call(
      route,
      new CallGroup(),
      () => undefined,
      () => undefined,
    );
    expect(next.sequence).toBe(call.sequence + 3);
  });

  it("can be taken apart into calls of its own, which are cancelled with it", () => {
    const { call, pack, told, group, recipient, task, cancelled } = make();
    const parts = call.unpack(pack);
    expect(
      parts.map(({ args, state }) => [Buffer.from(args.buffer.subarray(args.start, args.end)).toString(), state]),
    ).toEqual([
      ["a", "waiting"],
      ["bb", "waiting"],
      ["ccc", "waiting"],
    ]);
    expect([call.state, group.size]).toEqual(["ended", 3]);
    for (const part of parts) part.send(task, recipient);
    parts[0]?.succeed("a");
    call.cancel(new RangeError("enough"));
    expect(cancelled).toHaveLength(2);
    expect(told).toEqual([
      [0, "a"],
      [1, new RangeError("enough")],
      [2, new RangeError("enough")],
    ]);
    expect(group.size).toBe(0);
  });
});
