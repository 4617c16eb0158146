/**
 * The faults. `targets`: the groups whose workers it is for. `needs`: what the machine must offer. `often`: how often
 * it comes in each round of faults. `draw`: its details, from the seed alone. `explains`: the failures that calls of
 * the group may end with while it lasts, besides those of every fault.
 */

const LOSSES = ["WorkerLost", "NoWorkersAvailable"];
const STOPS = [...LOSSES, "PoolClosed", "TaskCancelled"];
const DELAYS = [...LOSSES, "TaskTimeout"];

const repair = (random) => ({ repairMs: random.integer(100, 2000) });
const spell = (low, high) => (random) => ({ ms: random.integer(low, high) });

export const FAULTS = [
  {
    kind: "kill",
    what: "SIGKILL of a worker, which is replaced after a while",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 4,
    draw: repair,
    explains: LOSSES,
  },
  {
    kind: "freeze",
    what: "SIGSTOP of a worker, SIGCONT after a while",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 3,
    draw: spell(100, 2500),
    explains: DELAYS,
  },
  {
    kind: "exit",
    what: "a task that ends its thread with process.exit",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 3,
    draw: () => ({}),
    explains: LOSSES,
  },
  {
    kind: "exhaust",
    what: "a task that needs more memory than its thread may have",
    targets: ["pool", "fleet", "tcp"],
    often: 1,
    draw: () => ({}),
    explains: DELAYS,
  },
  {
    kind: "block",
    what: "a task that loops forever, beyond its timeout",
    targets: ["pool", "fleet", "tcp"],
    often: 1,
    draw: spell(50, 400),
    explains: DELAYS,
  },
  {
    kind: "stray-exception",
    what: "an exception in a callback that no task awaits",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 1,
    draw: () => ({}),
    explains: [],
  },
  {
    kind: "stray-rejection",
    what: "a rejected promise that no task awaits",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 1,
    draw: () => ({}),
    explains: [],
  },
  {
    kind: "unlink",
    what: "the sockets of a worker's task threads removed: callers that come later go through its gRPC thread",
    targets: ["pool", "fleet"],
    often: 1,
    draw: () => ({}),
    explains: [],
  },
  {
    kind: "stop",
    what: "a pool that is stopped with calls under way, and started again",
    targets: ["pool", "fleet", "tcp", "net"],
    often: 3,
    draw: (random) => ({ timeoutMs: random.pick([0, 0, 200, 1000]), ...repair(random) }),
    explains: STOPS,
  },
  {
    kind: "join",
    what: "one more worker, of another process; one that is there leaves",
    targets: ["guests"],
    often: 3,
    draw: (random) => ({ timeoutMs: random.pick([0, 500]) }),
    explains: STOPS,
  },
  {
    kind: "kill-owner",
    what: "SIGKILL of the process that a worker belongs to",
    targets: ["guests", "net"],
    often: 1,
    draw: repair,
    explains: LOSSES,
  },
  {
    kind: "sever",
    what: "connections cut at both ends",
    targets: ["tcp"],
    often: 3,
    draw: () => ({}),
    explains: LOSSES,
  },
  {
    kind: "stall",
    what: "connections that pass nothing on for a while",
    targets: ["tcp"],
    often: 2,
    draw: spell(100, 2500),
    explains: DELAYS,
  },
  {
    kind: "lag",
    what: "connections that pass everything on late for a while",
    targets: ["tcp"],
    often: 2,
    draw: (random) => ({ ms: random.integer(300, 3000), delayMs: random.integer(5, 200) }),
    explains: DELAYS,
  },
  {
    kind: "net-cut",
    what: "the network link down for a while",
    targets: ["link"],
    needs: "namespaces",
    often: 2,
    draw: spell(100, 3000),
    explains: DELAYS,
  },
  {
    kind: "net-squeeze",
    what: "the network link narrow, with a short queue (tc tbf): late and lost packets",
    targets: ["link"],
    needs: "namespaces",
    often: 1,
    draw: (random) => ({ ms: random.integer(500, 3000), kbit: random.pick([64, 256, 2048]) }),
    explains: DELAYS,
  },
  {
    kind: "net-delay",
    what: "packets late by 10 to 200 ms, give or take a half (tc netem)",
    targets: ["link"],
    needs: "netem",
    often: 2,
    draw: (random) => ({ ms: random.integer(500, 3000), delayMs: random.integer(10, 200) }),
    explains: DELAYS,
  },
  {
    kind: "net-loss",
    what: "some of the packets lost (tc netem)",
    targets: ["link"],
    needs: "netem",
    often: 2,
    draw: (random) => ({ ms: random.integer(500, 3000), percent: random.pick([1, 5, 20, 60]) }),
    explains: DELAYS,
  },
];

/** The workers that faults hit, by the name of their kind of target. `guests` are in the group `fleet`. */
export const SLOTS = {
  pool: ["pool:0", "pool:1"],
  fleet: ["fleet:0", "fleet:1"],
  guests: ["fleet:2", "fleet:3"],
  tcp: ["tcp:0", "tcp:1"],
  net: ["net:0", "net:1"],
  link: ["net"],
};

/** The group that a slot belongs to. */
export function groupOf(slot) {
  return slot.split(":")[0];
}

/**
 * The failures that calls may end with while a fault of this kind lasts. Replacing a pool is not a fault, but ends
 * calls too.
 */
export function explainedBy(kind) {
  if (kind === "replace") return STOPS;
  return FAULTS.find((fault) => fault.kind === kind)?.explains ?? [];
}
