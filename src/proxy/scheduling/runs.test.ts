import { describe, expect, it } from "vitest";
import {
  type FakeMember,
  makeCall,
  makeMember,
  makeScheduler,
  ROUTE,
  settle,
} from "../../../test/support/fake-workers.ts";
import { Call } from "../../call/call.ts";
import { CallPack } from "../../call/call-pack.ts";
import { availableCores } from "../../host/index.ts";
import type { Route } from "../../routine/route.ts";
import { TaskCost } from "../../routine/task-cost.ts";
import type { Scheduler } from "./scheduler.ts";

/** A routine whose tasks take so many microseconds. */
function routeOf(microseconds: number): Route {
  const cost = new TaskCost();
  for (let i = 0; i < 20; i++) cost.add(1 + (i % 9), microseconds);
  return { ...ROUTE, cost };
}

const trivial = routeOf(4);

function submit(scheduler: Scheduler, route: Route, count: number): void {
  for (let i = 0; i < count; i++) {
    const call = makeCall(scheduler);
    call.route = route;
    scheduler.submit(call);
  }
}

const makeMembers = (count: number): FakeMember[] =>
  Array.from({ length: count }, (_, i) => makeMember(`w${i}`, [512]));
const loads = (members: readonly FakeMember[]): number[] =>
  members.map(({ session }) => session.inFlight).toSorted((a, b) => b - a);

function answer({ session }: FakeMember): void {
  for (const call of session.runs.splice(0).flat()) session.over(call);
}

describe("calls that take next to no time", () => {
  it("wake no more threads than they are worth", async () => {
    const members = makeMembers(5);
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 40);
    await settle();
    expect(loads(members)).toEqual([40, 0, 0, 0, 0]);
    submit(scheduler, trivial, 90);
    await settle();
    // 50 of them are worth waking a thread.
    expect(loads(members).filter((load) => load > 0).length).toBe(3);
    expect(Math.max(...loads(members))).toBeLessThanOrEqual(50);
  });

  it("wake no more threads on this machine than it has cores, as long as these have room", async () => {
    const cores = availableCores();
    const members = makeMembers(cores + 3);
    for (const { link } of members) Object.assign(link, { sharesFiles: true });
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 512 * cores - 10);
    await settle();
    expect(loads(members).filter((load) => load > 0).length).toBe(cores);
    submit(scheduler, trivial, 100);
    await settle();
    expect(loads(members).reduce((sum, load) => sum + load)).toBe(512 * cores + 90);
    expect(loads(members).filter((load) => load > 0).length).toBe(cores + 1);
  });

  it("wake no more threads on this machine than it has cores when they travel in packs", async () => {
    const cores = availableCores();
    const members = makeMembers(cores + 3);
    for (const { link } of members) Object.assign(link, { sharesFiles: true });
    const { scheduler } = makeScheduler(members);
    const ignore = (): void => undefined;
    const lengths = Array.from({ length: 50 }, () => 1);
    for (let i = 0; i < 4 * cores; i++) {
      const pack = new CallPack(lengths, { succeeded: ignore, failed: ignore });
      scheduler.submit(new Call(trivial, scheduler.calls, ignore, ignore, pack));
    }
    await settle();
    expect(loads(members)).toEqual([...members.slice(3).map(() => 4), 0, 0, 0]);
  });

  it("go to threads that are awake", async () => {
    const members = makeMembers(5);
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 10);
    await settle();
    const first = members.find(({ session }) => session.inFlight > 0);
    for (let i = 0; i < 20; i++) {
      for (const member of members) answer(member);
      submit(scheduler, trivial, 10);
      await settle();
      expect(first?.session.inFlight).toBe(10);
    }
  });

  it("go to other threads after very many rounds", async () => {
    const members = makeMembers(3);
    const { scheduler } = makeScheduler(members);
    const busy = new Set<FakeMember>();
    for (let round = 0; round < 40_000 && busy.size < members.length; round++) {
      submit(scheduler, trivial, 2);
      scheduler.distribute();
      for (const member of members) {
        if (member.session.inFlight === 0) continue;
        busy.add(member);
        answer(member);
      }
    }
    expect(busy.size).toBe(3);
  });

  it("go to all threads evenly when there are more of them than that", async () => {
    const members = makeMembers(4);
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 1000);
    await settle();
    expect(loads(members)).toEqual([250, 250, 250, 250]);
  });

  it.each([
    ["that take long", routeOf(500)],
    ["that nobody has measured", { ...ROUTE, cost: new TaskCost() }],
    ["of unknown cost", ROUTE],
  ])("are not mistaken for calls %s", async (_name, route) => {
    const members = makeMembers(5);
    const { scheduler } = makeScheduler(members);
    submit(scheduler, route, 5);
    await settle();
    expect(loads(members)).toEqual([1, 1, 1, 1, 1]);
    for (const member of members) answer(member);
    submit(scheduler, trivial, 3);
    submit(scheduler, route, 2);
    await settle();
    expect(loads(members)).toEqual([1, 1, 1, 1, 1]);
  });

  it("do not wait at a worker that runs few at once while another does nothing", async () => {
    const members = makeMembers(3);
    for (const member of members) member.metadata = { ...member.metadata, channel: { maxConcurrency: 1 } };
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 3);
    await settle();
    expect(loads(members)).toEqual([1, 1, 1]);
  });

  it("pass a thread that has left", async () => {
    const members = makeMembers(3);
    const { scheduler } = makeScheduler(members);
    submit(scheduler, trivial, 10);
    await settle();
    const gone = members.find(({ session }) => session.inFlight > 0);
    if (gone === undefined) throw new Error("nobody has the calls");
    answer(gone);
    scheduler.remove(gone);
    submit(scheduler, trivial, 10);
    await settle();
    expect([gone.session.inFlight, loads(members)]).toEqual([0, [10, 0, 0]]);
  });
});

describe("a single call", () => {
  it("goes to the thread with the least to do, and to the next one of those in turn", async () => {
    const members = makeMembers(4);
    const { scheduler } = makeScheduler(members);
    for (const [i, load] of [3, 1, 2, 1].entries()) Object.assign(members[i]?.session ?? {}, { inFlight: load });
    for (let i = 0; i < 3; i++) {
      submit(scheduler, ROUTE, 1);
      await settle();
    }
    expect(members.map(({ session }) => session.inFlight)).toEqual([3, 2, 3, 2]);
  });

  it("passes threads without room", async () => {
    const members = makeMembers(3);
    const { scheduler } = makeScheduler(members);
    for (const { session } of members.slice(0, 2)) session.room = 0;
    submit(scheduler, ROUTE, 1);
    await settle();
    expect(members.map(({ session }) => session.inFlight)).toEqual([0, 0, 1]);
  });
});
