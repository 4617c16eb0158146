import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { WorkerLost } from "../errors.ts";
import type { Route } from "../routine/route.ts";
import { Payload, type PayloadStore } from "../wire/payload.ts";
import { Call } from "./call.ts";
import { CallGroup } from "./call-group.ts";
import type { CallExtras, CallOwner, CallWatcher } from "./call-parties.ts";
import { RemoteFailure } from "./remote-failure.ts";
import type { RemoteTask } from "./remote-task.ts";

const LOST = new WorkerLost("worker gone");
const group = new CallGroup();
const worker = { uid: "w", tally: { inFlight: 0, done: 0, failed: 0 } };

beforeEach(() => {
  worker.tally.inFlight = 0;
  worker.tally.done = 0;
  worker.tally.failed = 0;
});

/** A call, and a record of everything that it reports. */
function makeCall(extras?: CallExtras) {
  const told: string[] = [];
  const owner: CallOwner = {
    withdraw: () => void told.push("withdrawn"),
    rejected: () => undefined,
    returned: () => undefined,
    remade: () => undefined,
    lost: () => undefined,
  };
  const call = new Call(
    { name: "add" } as Route,
    group,
    (value) => void told.push(`resolved ${String(value)}`),
    (failure) => void told.push(`rejected ${failure instanceof RemoteFailure ? String(failure.error) : "bare"}`),
  );
  call.extras = extras;
  const watcher: CallWatcher = {
    sent: ({ recipient }) => told.push(`sent to ${recipient?.uid}`),
    started: () => told.push("started"),
    requeued: (_call, why) => told.push(`requeued ${why}`),
    ended: (_call, how) => told.push(`ended ${how}`),
  };
  call.watch(watcher);
  const task = { cancel: (reason: unknown) => void told.push(`task cancelled ${String(reason)}`) };
  return { call, told, owner, send: () => call.send(task as unknown as RemoteTask, worker) };
}

describe("a call", () => {
  it("goes from creation to its result, and tells of each step", () => {
    const { call, told, owner, send } = makeCall();
    const states = [call.state];
    call.waitAt(owner);
    states.push(call.state);
    send();
    states.push(call.state);
    call.start();
    states.push(call.state);
    call.leave();
    states.push(call.state);
    call.succeed(3);
    states.push(call.state);
    expect(states).toEqual(["created", "waiting", "sent", "running", "settling", "ended"]);
    expect(told).toEqual(["sent to w", "started", "ended done", "resolved 3"]);
    expect([worker.tally, call.task]).toEqual([{ inFlight: 0, done: 1, failed: 0 }, undefined]);
  });

  it("waits again when a worker gives it back", () => {
    const { call, told, owner, send } = makeCall();
    call.waitAt(owner);
    send();
    call.leave();
    call.waitAgain(owner, "rejected");
    expect([call.state, call.recipient]).toEqual(["waiting", worker]);
    send();
    call.leave();
    call.raise(new RangeError("x"));
    expect(told).toEqual(["sent to w", "requeued rejected", "sent to w", "ended failed", "rejected RangeError: x"]);
    expect(worker.tally).toEqual({ inFlight: 0, done: 0, failed: 1 });
  });

  it("that is lost ends and says that it may have run, and counts as failed", () => {
    const { call, told, owner, send } = makeCall();
    call.waitAt(owner);
    send();
    call.leave();
    call.lose(owner, LOST);
    expect(told.slice(1)).toEqual([
      "ended lost",
      expect.stringMatching(/^rejected WorkerLost: worker gone; add was sent to it and may or may not have run/),
    ]);
    expect(worker.tally).toEqual({ inFlight: 0, done: 0, failed: 1 });
  });

  it("that is lost and idempotent waits once more, and once only; a stream does not", () => {
    const { call, told, owner, send } = makeCall({ idempotent: true });
    call.waitAt(owner);
    for (const state of ["waiting", "ended"]) {
      send();
      call.leave();
      call.lose(owner, LOST);
      expect([call.state, call.lostBefore]).toEqual([state, LOST]);
    }
    expect(told.filter((what) => what.startsWith("requeued"))).toEqual(["requeued lost"]);
    const stream = makeCall({ idempotent: true }).call;
    stream.stream = { opened: () => undefined, yielded: () => true, cancelled: () => undefined };
    expect(stream.canRunAgain).toBe(false);
  });

  it("that is cancelled leaves its owner or its worker, whoever has it, and is told why", () => {
    const waiting = makeCall();
    waiting.call.waitAt(waiting.owner);
    waiting.call.cancel("enough");
    expect(waiting.told).toEqual(["ended cancelled", "withdrawn", "rejected enough"]);
    const sent = makeCall();
    sent.call.waitAt(sent.owner);
    sent.send();
    sent.call.cancel("enough");
    expect(sent.told.slice(1)).toEqual(["task cancelled enough", "ended cancelled", "rejected enough"]);
    expect(worker.tally.inFlight).toBe(0);
  });

  it("tells a generator that nobody waits for it, before it ends", () => {
    const { call, told, owner, send } = makeCall();
    call.stream = { opened: () => undefined, yielded: () => true, cancelled: () => void told.push("cancelled") };
    call.waitAt(owner);
    send();
    call.cancel("enough");
    expect(told.slice(1)).toEqual(["cancelled", "task cancelled enough", "ended cancelled", "rejected enough"]);
  });

  it("drops stored arguments that no worker has read, and no others", () => {
    const drop = vi.fn();
    const store = { drop } as unknown as PayloadStore;
    const ends: [boolean, (call: Call, owner: CallOwner, send: () => void) => void][] = [
      [true, (call) => call.discard()],
      [
        true,
        (call, owner) => {
          call.waitAt(owner);
          call.fail(new Error("closed"));
        },
      ],
      [
        false,
        (call, owner, send) => {
          call.waitAt(owner);
          send();
          call.cancel("enough");
        },
      ],
    ];
    for (const [dropped, end] of ends) {
      drop.mockClear();
      const { call, owner, send } = makeCall();
      call.args = Payload.inStore(store, "file", 5);
      end(call, owner, send);
      expect(drop.mock.calls).toEqual(dropped ? [["file", 5]] : []);
    }
  });

  it("lets go of what waits for it once it has ended", () => {
    const { call, owner } = makeCall();
    call.remake = () => true;
    call.waitAt(owner);
    call.fail("x");
    expect(call.remake).toBeUndefined();
  });

  it("ends once, is counted right and never tells of anything after its end, whatever happens in whatever order", async () => {
    const act = fc.constantFrom(
      "wait",
      "send",
      "start",
      "leave",
      "requeue",
      "succeed",
      "raise",
      "fail",
      "lose",
      "cancel" as const,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 15 }), fc.boolean(), async (acts, idempotent) => {
        const before = group.size;
        const { call, told, owner, send } = makeCall({ idempotent });
        for (const what of acts) {
          const { state } = call;
          const atWorker = state === "sent" || state === "running";
          if (what === "wait" && state === "created") call.waitAt(owner);
          else if (what === "send" && state === "waiting") send();
          else if (what === "start") call.start();
          else if (what === "leave") call.leave();
          else if (what === "requeue" && state === "settling") call.waitAgain(owner, "rejected");
          else if (what === "lose" && state === "settling") call.lose(owner, LOST);
          else if (what === "succeed" && state !== "created") call.succeed(1);
          else if (what === "raise" && state !== "created") call.raise("x");
          else if (what === "fail" && state !== "created") call.fail("x");
          else if (what === "cancel" && state !== "created") call.cancel("x");
          expect(worker.tally.inFlight).toBe(call.state === "sent" || call.state === "running" ? 1 : 0);
          expect(call.task !== undefined).toBe(call.state === "sent" || call.state === "running");
          expect(group.size - before).toBe(call.state === "created" || call.state === "ended" ? 0 : 1);
          if (state === "ended") expect(call.state).toBe("ended");
          if (what === "leave" && atWorker) expect(call.state).toBe("settling");
        }
        const ends = told.filter((what) => what.startsWith("ended"));
        const settled = told.filter((what) => what.startsWith("resolved") || what.startsWith("rejected"));
        const over = call.state === "ended" ? 1 : 0;
        expect([ends.length, settled.length]).toEqual([over, over]);
        if (over === 1) expect(told.at(-1)).toBe(settled[0]);
        call.fail("over");
        await group.empty();
      }),
    );
  });
});

describe("a group of calls", () => {
  it("is empty when the last call has ended, however that ends", async () => {
    const calls = [makeCall(), makeCall(), makeCall()];
    for (const { call, owner } of calls) call.waitAt(owner);
    let isEmpty = false;
    const empty = group.empty().then(() => {
      isEmpty = true;
    });
    const [first, second, third] = calls as [(typeof calls)[0], (typeof calls)[0], (typeof calls)[0]];
    first.call.succeed(1);
    second.call.cancel("x");
    await Promise.resolve();
    expect([group.size, isEmpty]).toEqual([1, false]);
    third.call.fail("x");
    await empty;
    expect([group.size, isEmpty]).toEqual([0, true]);
    await group.empty();
  });
});
