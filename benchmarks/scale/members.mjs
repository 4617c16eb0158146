// What one join, one leave, one call and one change of the member list cost as the pool grows; members are simulated.
//
//   npx tsx benchmarks/scale/members.mjs [--quick]
import {
  ConsistentHashLoadBalancer,
  LeastLoadedLoadBalancer,
  PowerOfTwoLoadBalancer,
  RoundRobinLoadBalancer,
} from "../../src/balancing/index.ts";
import { Membership } from "../../src/proxy/members/membership.ts";
import { Roster } from "../../src/proxy/members/roster.ts";
import { Scheduler } from "../../src/proxy/scheduling/scheduler.ts";
import { makeCall, makeMember } from "../../test/support/fake-workers.ts";
import { formatTable, growthOf, timeEach } from "./growth.mjs";

const quick = process.argv.includes("--quick");
const SIZES = quick ? [10, 1000] : [10, 100, 1000, 10_000];
const TIMES = quick ? 300 : 2000;
/** Sizes of a pool whose workers all make nested calls. */
const NESTED_SIZES = quick ? [20, 200] : [20, 200, 2000];

const worker = (i) => ({
  uid: `w-${String(i).padStart(12, "0")}`,
  address: `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}:7001`,
  pid: i + 1,
  version: "0.1.0",
  tags: new Set(i % 10 === 0 ? ["gpu"] : ["cpu"]),
  extra: {},
  secure: false,
  channel: {},
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
const options = { maxPending: Number.POSITIVE_INFINITY, evict: () => undefined };

/** A scheduler whose members have room for this many calls each. */
function makePool(size, room, balancer = new LeastLoadedLoadBalancer()) {
  const scheduler = new Scheduler(options);
  scheduler.balancer = balancer;
  for (let i = 0; i < size; i++) {
    const member = makeMember(worker(i).uid, [room]);
    member.metadata = worker(i);
    scheduler.add(member);
  }
  scheduler.open();
  return scheduler;
}

/** A join and a leave, in a pool that follows a discovery, with a lease that has room and one that does not. */
async function joinAndLeave(size, lease) {
  const scheduler = new Scheduler(options);
  const roster = new Roster();
  const membership = new Membership(scheduler, {
    filter: () => true,
    reserved: new Set(),
    lease,
    credentials: undefined,
    limits: undefined,
    changed: (uid) => {
      const known = membership.describe(uid);
      if (known === undefined) roster.dismiss(uid);
      else roster.admit(known);
    },
  });
  let push;
  const events = [];
  const discovery = {
    subscribe: () => ({
      [Symbol.asyncIterator]: () => ({
        next: () =>
          events.length > 0
            ? Promise.resolve({ done: false, value: events.shift() })
            : new Promise((resolve) => {
                push = (value) => resolve({ done: false, value });
              }),
        return: async () => ({ done: true, value: undefined }),
      }),
    }),
  };
  const tell = async (type, i) => {
    push({ type, worker: worker(i) });
    await Promise.resolve();
    await Promise.resolve();
  };
  for (let i = 0; i < size; i++) events.push({ type: "worker-added", worker: worker(i) });
  membership.subscribe(discovery);
  while (membership.size < Math.min(size, lease) || events.length > 0) await turn();
  await turn();
  const join = await timeEach(TIMES, (i) => tell("worker-added", size + i));
  const leave = await timeEach(TIMES, (i) => tell("worker-dropped", size + i));
  membership.close(true);
  return { join, leave };
}

/** One call at a time, each ended before the next one is made. */
async function callsAlone(size, balancer, extras) {
  const scheduler = makePool(size, 2, balancer);
  return await timeEach(TIMES, async () => {
    const call = makeCall(scheduler, extras);
    scheduler.submit(call);
    await turn();
    const member = scheduler.members.get(call.recipient.uid);
    member.session.over(call);
    member.session.runs.length = 0;
    call.fail(new Error("ended"));
    scheduler.progressed(member.link);
  });
}

/** A call when every worker has one and could take another. */
async function callsBesideOthers(size) {
  const scheduler = makePool(size, 1000);
  for (let i = 0; i < size; i++) scheduler.submit(makeCall(scheduler));
  await turn();
  return await timeEach(TIMES, async () => {
    scheduler.submit(makeCall(scheduler));
    await turn();
  });
}

/** A call that waits because no worker has room, until a worker has room again. */
async function callsThatWait(size) {
  const scheduler = makePool(size, 1);
  for (let i = 0; i < size; i++) scheduler.submit(makeCall(scheduler));
  await turn();
  const members = [...scheduler.members.values()];
  const running = new Map(members.map((member) => [member, member.session.runs.splice(0).flat()]));
  let next = 0;
  return await timeEach(TIMES, async () => {
    scheduler.submit(makeCall(scheduler));
    await turn();
    const member = members[next++ % members.length];
    const [call] = running.get(member);
    member.session.over(call);
    call.fail(new Error("ended"));
    scheduler.progressed(member.link);
    running.set(member, member.session.runs.splice(0).flat());
  });
}

/** A member joins a pool whose workers all make nested calls: the messages that tell each of them. */
function changeOfNested(size) {
  const roster = new Roster();
  for (let i = 0; i < size; i++) roster.admit(worker(i));
  const told = new Array(size).fill(roster.version);
  let bytes = 0;
  return timeEach(quick ? 20 : 100, (i) => {
    roster.admit(worker(size + i));
    bytes = 0;
    for (let session = 0; session < size; session++) {
      bytes += roster.describe(told[session]).byteLength;
      told[session] = roster.version;
    }
    roster.dismiss(worker(size + i).uid);
    for (let session = 0; session < size; session++) {
      roster.describe(told[session]);
      told[session] = roster.version;
    }
  }).then((us) => ({ us: us / 2, each: us / 2 / size, bytes: bytes / size }));
}

const rows = [];
const measure = async (name, sizes, of) => {
  // A run that does not count: otherwise the first size would pay for warming up the engine.
  for (const size of sizes) await of(size);
  const figures = [];
  for (const size of sizes) figures.push(await of(size));
  rows.push({ name, sizes, figures, growth: growthOf(figures) });
};

await measure("a worker joins", SIZES, async (size) => (await joinAndLeave(size, Number.POSITIVE_INFINITY)).join);
await measure("a worker leaves", SIZES, async (size) => (await joinAndLeave(size, Number.POSITIVE_INFINITY)).leave);
await measure("a worker is found, beyond the lease", SIZES, async (size) => (await joinAndLeave(size, size)).join);
await measure("a call, alone", SIZES, (size) => callsAlone(size));
await measure("a call, beside one at each worker", SIZES, (size) => callsBesideOthers(size));
await measure("a call that waits for room", SIZES, (size) => callsThatWait(size));
await measure("a call that needs a tag", SIZES, (size) => callsAlone(size, undefined, { needs: ["gpu"] }));
await measure("a call, round robin", SIZES, (size) => callsAlone(size, new RoundRobinLoadBalancer()));
await measure("a call, power of two", SIZES, (size) => callsAlone(size, new PowerOfTwoLoadBalancer()));
await measure("a call, by key", SIZES, (size) => callsAlone(size, new ConsistentHashLoadBalancer(), { key: "k" }));
console.log(formatTable("microseconds for one, by members of the pool", rows));

const nested = [];
for (const size of NESTED_SIZES) nested.push({ size, ...(await changeOfNested(size)) });
console.log("a change of the member list, told to every worker that makes nested calls");
for (const { size, us, each, bytes } of nested) {
  const text = `${us.toFixed(0)} us, ${each.toFixed(2)} us and ${bytes.toFixed(0)} bytes for each worker`;
  console.log(`  ${String(size).padStart(6)} workers: ${text}`);
}
process.exit(0);
