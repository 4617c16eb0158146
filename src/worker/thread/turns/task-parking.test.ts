import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConcurrencyPermits } from "../../shared/concurrency-permits.ts";
import type { RunningTask } from "../running-task.ts";
import { TaskParking } from "./task-parking.ts";

/** A model of a thread and its tasks. Messages to it wait while a task blocks it. */
interface Lane {
  parking: TaskParking;
  readonly running: number[];
  readonly inbox: (() => void)[];
  readonly session: { readonly party: object };
  blocked: boolean;
}

/** The threads of a worker, and the gRPC thread that passes on their messages. */
class Worker {
  readonly lanes: Lane[] = [];
  readonly started: number[] = [];
  readonly #permits: ConcurrencyPermits;
  readonly #inbox: (() => void)[] = [];
  taken = 0;
  #last = 0;

  constructor(limit: number, lanes: number) {
    this.#permits = ConcurrencyPermits.of(limit, lanes);
    for (let lane = 0; lane < lanes; lane++) this.lanes.push(this.#start(lane));
  }

  get running(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.running.length, 0);
  }

  take(lane: number): void {
    const name = this.#last++;
    const target = this.lanes[lane];
    if (target === undefined) return;
    this.taken++;
    const start = (): void => {
      target.running.push(name);
      this.started.push(name);
    };
    const task = { name, session: target.session } as unknown as RunningTask;
    target.parking.take({ task, start, drop: () => expect.unreachable() });
  }

  end(lane: number): void {
    const ended = this.lanes[lane]?.running.shift();
    if (ended !== undefined) this.lanes[lane]?.parking.giveBack();
  }

  /** A thread ends with its tasks, and another takes its place. */
  kill(lane: number): void {
    const killed = this.lanes[lane];
    if (killed === undefined) return;
    this.taken -= killed.running.length + killed.parking.size;
    for (const name of killed.running) this.started.splice(this.started.indexOf(name), 1);
    killed.inbox.length = 0;
    this.lanes[lane] = this.#start(lane);
    this.#permits.reclaim(lane);
    this.#look(lane);
  }

  /** Delivers one message that is under way. Returns false when none can be delivered. */
  deliver(which: number): boolean {
    const boxes = [this.#inbox, ...this.lanes.filter(({ blocked }) => !blocked).map(({ inbox }) => inbox)];
    const full = boxes.filter((box) => box.length > 0);
    const message = full[which % Math.max(1, full.length)]?.shift();
    message?.();
    return message !== undefined;
  }

  settle(): void {
    let delivered = 0;
    while (this.deliver(delivered)) if (++delivered > 10_000) throw new Error("the threads keep telling each other");
  }

  #look(lane: number): void {
    for (const other of this.#permits.waitingAfter(lane)) this.#tell(other);
  }

  #tell(lane: number): void {
    const told = this.lanes[lane];
    told?.inbox.push(() => told.parking.look());
  }

  #start(lane: number): Lane {
    const running: number[] = [];
    const parking = new TaskParking({
      permits: this.#permits,
      lane,
      announce: () => {
        this.#inbox.push(() => {
          this.#look(lane);
          this.#tell(lane);
        });
      },
    });
    return { parking, running, inbox: [], session: { party: {} }, blocked: false };
  }
}

type Action = readonly ["take" | "end" | "block" | "unblock" | "deliver" | "settle" | "kill", number];

const action: fc.Arbitrary<Action> = fc.tuple(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant("take" as const) },
    { weight: 8, arbitrary: fc.constant("end" as const) },
    { weight: 8, arbitrary: fc.constant("deliver" as const) },
    { weight: 2, arbitrary: fc.constantFrom("block" as const, "unblock" as const) },
    { weight: 1, arbitrary: fc.constantFrom("settle" as const, "kill" as const) },
  ),
  fc.nat({ max: 5 }),
);

afterEach(() => vi.restoreAllMocks());

describe("TaskParking", () => {
  it("keeps to the limit, leaves no permit unused that a thread could use, and starts every task once", () => {
    // On a busy machine a time slice may end between two tasks. The model has no event loop that would go on then.
    vi.spyOn(performance, "now").mockReturnValue(0);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(action, { minLength: 20, maxLength: 80, size: "max" }),
        (limit, lanes, actions) => {
          const worker = new Worker(limit, lanes);
          const awake = (n: number): number => {
            const free = [...worker.lanes.keys()].filter((lane) => worker.lanes[lane]?.blocked === false);
            return free[n % Math.max(1, free.length)] ?? -1;
          };
          for (const [kind, n] of actions) {
            if (kind === "take") worker.take(awake(n));
            else if (kind === "end") worker.end(awake(n));
            else if (kind === "deliver") worker.deliver(n);
            else if (kind === "kill") worker.kill(n % lanes);
            else if (kind === "settle") {
              worker.settle();
              const idle = worker.lanes.filter(({ blocked, parking }) => !blocked && parking.size > 0);
              if (worker.running < limit) expect(idle).toEqual([]);
            } else {
              const lane = worker.lanes[n % lanes];
              if (lane !== undefined) lane.blocked = kind === "block";
            }
            expect(worker.running).toBeLessThanOrEqual(limit);
          }
          for (const lane of worker.lanes) lane.blocked = false;
          worker.settle();
          while (worker.running > 0) {
            for (const lane of worker.lanes.keys()) worker.end(lane);
            worker.settle();
          }
          expect(worker.started).toHaveLength(worker.taken);
          expect(new Set(worker.started).size).toBe(worker.taken);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("tells those who wait elsewhere before it starts its own", () => {
    const worker = new Worker(1, 2);
    worker.take(0);
    worker.take(1);
    worker.take(0);
    worker.end(0);
    expect(worker.lanes.map(({ running }) => running)).toEqual([[], []]);
    worker.settle();
    expect(worker.started).toEqual([0, 1]);
    worker.end(1);
    worker.settle();
    expect(worker.started).toEqual([0, 1, 2]);
  });

  it("lets nobody overtake those who have been told", () => {
    const worker = new Worker(1, 2);
    worker.take(0);
    worker.take(1);
    worker.end(0);
    worker.take(0);
    worker.settle();
    expect(worker.started).toEqual([0, 1]);
  });

  it("tells them again when more became free before it heard of the first time", () => {
    const worker = new Worker(2, 2);
    for (const lane of [0, 0, 1, 1]) worker.take(lane);
    worker.end(0);
    worker.deliver(0);
    // The other thread looks before the second permit is free, and this one after that.
    worker.lanes[1]?.inbox.shift()?.();
    worker.end(0);
    worker.settle();
    expect(worker.started).toEqual([0, 1, 2, 3]);
  });

  it("does not wait for a thread that is blocked", () => {
    const worker = new Worker(2, 2);
    worker.take(0);
    worker.take(1);
    worker.take(1);
    worker.lanes.forEach((lane, index) => (lane.blocked = index === 1));
    worker.take(0);
    worker.end(0);
    worker.settle();
    worker.take(0);
    worker.end(0);
    worker.settle();
    expect(worker.started).toEqual([0, 1, 3, 4]);
  });
});
