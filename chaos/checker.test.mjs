import { describe, expect, test } from "vitest";
import { check, freezePenalties, HEAP_BOUND_BYTES, RSS_BOUND_BYTES, summarize } from "./checker.mjs";

const answered = {
  token: "compute-1",
  kind: "compute",
  group: "pool",
  start: 1000,
  end: 1020,
  bound: 5000,
  idempotent: false,
  expected: ["ok"],
  outcome: "ok",
  ran: ["compute-1"],
};
const fine = {
  calls: [answered],
  pending: [],
  runs: [{ token: "compute-1", pid: 7 }],
  incidents: [],
  leftovers: { processes: [], sockets: [] },
  memory: {
    before: { heap: 10e6, rss: 90e6, descriptors: 20 },
    after: { heap: 10e6, rss: 90e6, descriptors: 20 },
  },
};
const failed = { ...answered, outcome: "WorkerLost", message: "gone", ran: undefined };

function rules(changes) {
  return check({ ...fine, ...changes }).map(({ rule }) => rule);
}

test("a run without fault has no violations", () => {
  expect(check(fine)).toEqual([]);
});

describe("executions", () => {
  test("a task that ran twice, in one process or two", () => {
    for (const pid of [7, 8]) {
      const runs = [...fine.runs, { token: "compute-1", pid }];
      const [violation] = check({ ...fine, runs });
      expect(violation).toMatchObject({ rule: "a task ran twice", count: 1 });
      expect(violation.examples[0]).toContain(`compute-1 in the processes 7, ${pid}`);
    }
  });

  test("a task that ran twice although its call failed, and one of its nested tasks", () => {
    const incidents = [{ group: "pool", kind: "kill", start: 900, end: 1100 }];
    const runs = [...fine.runs, { token: "compute-1", pid: 8 }];
    expect(rules({ calls: [failed], incidents, runs })).toEqual(["a task ran twice"]);
    const nested = [...fine.runs, { token: "compute-1.0.1", pid: 7 }, { token: "compute-1.0.1", pid: 8 }];
    expect(rules({ runs: nested })).toEqual(["a task ran twice"]);
  });

  test("an idempotent task may run once more, and not oftener", () => {
    const calls = [{ ...answered, idempotent: true }];
    const runs = [7, 8, 9].map((pid) => ({ token: "compute-1", pid }));
    expect(rules({ calls, runs: runs.slice(0, 2) })).toEqual([]);
    expect(rules({ calls, runs })).toEqual(["a task ran twice"]);
  });

  test("an answer that nobody ran", () => {
    expect(rules({ runs: [] })).toEqual(["an answer without a run"]);
    const calls = [{ ...answered, ran: ["compute-1", "compute-1.0"] }];
    expect(rules({ calls })).toEqual(["an answer without a run"]);
  });

  test("a task that nobody called", () => {
    expect(rules({ runs: [...fine.runs, { token: "other-1", pid: 7 }] })).toEqual(["a task ran that nobody called"]);
  });

  test("a generator that was closed and did not notice, unless its worker was lost", () => {
    const calls = [{ ...answered, closes: ["compute-1.closed"] }];
    expect(rules({ calls })).toEqual(["a generator that was not closed"]);
    expect(rules({ calls, runs: [...fine.runs, { token: "compute-1.closed", pid: 7 }] })).toEqual([]);
    expect(rules({ calls, incidents: [{ group: "pool", kind: "kill", start: 1010, end: 1011 }] })).toEqual([]);
  });
});

describe("answers", () => {
  test("a wrong one", () => {
    expect(rules({ calls: [{ ...answered, wrong: "3 and not 4" }] })).toEqual(["a wrong answer"]);
  });

  test("one that came too late", () => {
    expect(rules({ calls: [{ ...answered, end: 6001 }] })).toEqual(["a call took longer than its bound"]);
  });

  test("one that never came", () => {
    const [violation] = check({ ...fine, calls: [], pending: [{ ...answered, waitingFor: "item 3" }] });
    expect(violation.rule).toBe("a call never ended");
    expect(violation.examples[0]).toContain("item 3");
  });

  test("an error of no documented class, whatever happened", () => {
    const incidents = [{ group: "pool", kind: "kill", start: 900, end: 1100 }];
    for (const outcome of ["TypeError", "UnexpectedResponse", "Intended", "undefined"]) {
      expect(rules({ calls: [{ ...failed, outcome }], incidents })).toEqual(["an error of an unexpected kind"]);
    }
  });

  test("an error that was asked for", () => {
    expect(rules({ calls: [{ ...failed, outcome: "Intended", expected: ["Intended"], ran: ["compute-1"] }] })).toEqual(
      [],
    );
  });
});

describe("a failure", () => {
  const unexplained = ["a failure that no fault explains"];
  const incident = { group: "pool", kind: "kill", start: 900, end: 1010 };

  test("is explained by what happened to its group meanwhile, or just before", () => {
    expect(rules({ calls: [failed], incidents: [incident] })).toEqual([]);
    expect(rules({ calls: [failed], incidents: [{ ...incident, end: 950 }] })).toEqual([]);
  });

  test("is not explained by nothing, by another group's trouble, by what came later or was long over", () => {
    expect(rules({ calls: [failed] })).toEqual(unexplained);
    expect(rules({ calls: [failed], incidents: [{ ...incident, group: "fleet" }] })).toEqual(unexplained);
    expect(rules({ calls: [failed], incidents: [{ ...incident, start: 1021, end: 1030 }] })).toEqual(unexplained);
    const late = { ...failed, start: 60_000, end: 60_010 };
    expect(rules({ calls: [late], incidents: [incident] })).toEqual(unexplained);
  });

  test("is not explained by a fault that must not cause it", () => {
    const timeout = { ...failed, outcome: "TaskTimeout" };
    expect(rules({ calls: [timeout], incidents: [incident] })).toEqual(unexplained);
    expect(rules({ calls: [timeout], incidents: [{ ...incident, kind: "freeze" }] })).toEqual([]);
    expect(rules({ calls: [failed], incidents: [{ ...incident, kind: "stray-exception" }] })).toEqual(unexplained);
    const closed = { ...failed, outcome: "PoolClosed" };
    expect(rules({ calls: [closed], incidents: [incident] })).toEqual(unexplained);
    expect(rules({ calls: [closed], incidents: [{ ...incident, kind: "stop" }] })).toEqual([]);
  });
});

describe("what is left", () => {
  test.each(["processes", "sockets"])("%s", (place) => {
    expect(check({ ...fine, leftovers: { [place]: ["a", "b"] } })).toEqual([
      { rule: `something is left: ${place}`, count: 2, examples: ["a", "b"] },
    ]);
  });

  test("a worker process that ended for an error of its own", () => {
    expect(rules({ crashes: ["w-1: Error: no"] })).toEqual(["a worker process crashed"]);
  });

  test("memory and descriptors above their bounds", () => {
    const { before } = fine.memory;
    const grown = (change) => rules({ memory: { before, after: { ...before, ...change } } });
    expect(grown({ heap: before.heap + HEAP_BOUND_BYTES })).toEqual([]);
    expect(grown({ heap: before.heap + HEAP_BOUND_BYTES + 1 })).toEqual(["memory is not back"]);
    expect(grown({ rss: before.rss + RSS_BOUND_BYTES + 1 })).toEqual(["memory is not back"]);
    expect(grown({ descriptors: 19 })).toEqual([]);
    expect(grown({ descriptors: 21, opened: ["21 a socket"] })).toEqual(["file descriptors are not back"]);
  });
});

test("many violations of one rule are counted, and a few told", () => {
  const calls = Array.from({ length: 50 }, (_, i) => ({ ...answered, token: `compute-${i}`, ran: [`compute-${i}`] }));
  const [violation] = check({ ...fine, calls, runs: [] });
  expect(violation.count).toBe(50);
  expect(violation.examples).toHaveLength(5);
});

test("figures count kinds, outcomes and processes, and know the longest call", () => {
  const slow = { ...failed, token: "compute-2", end: 4000 };
  const asked = { ...failed, token: "throw-3", kind: "throw", outcome: "Intended", expected: ["Intended"] };
  const runs = [...fine.runs, { token: "compute-2", pid: 8 }];
  expect(summarize([answered, slow, asked], runs)).toEqual({
    calls: 3,
    executions: 2,
    processes: 2,
    kinds: { compute: 2, throw: 1 },
    outcomes: { ok: 1, WorkerLost: 1, "Intended, as asked": 1 },
    longest: { ms: 3000, call: "compute compute-2 on pool", outcome: "WorkerLost" },
  });
});

test("what calls paid for frozen workers", () => {
  const incidents = [{ group: "pool", kind: "freeze", start: 1000, end: 2000 }];
  const timedOut = { ...failed, outcome: "TaskTimeout", end: 3500 };
  const elsewhere = { ...timedOut, group: "fleet" };
  expect(freezePenalties([answered, timedOut, elsewhere], incidents)).toEqual({
    freezes: 1,
    timedOut: 1,
    slow: 1,
    longestMs: 2500,
  });
});
