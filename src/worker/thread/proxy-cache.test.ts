import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Roster } from "../../proxy/members/roster.ts";
import { RoutineSpec } from "../../routine/routine-spec.ts";
import { ProxyCache } from "./proxy-cache.ts";

const proxies = vi.hoisted(() => ({ made: 0, stopped: 0, busy: 0 }));

vi.mock("../../proxy/index.ts", async (original) => ({
  ...(await original<typeof import("../../proxy/index.ts")>()),
  WorkerProxy: class {
    constructor() {
      proxies.made++;
    }
    call = () => Promise.resolve("called");
    stats = () => ({ inFlight: proxies.busy, queued: 0 });
    stop = async () => {
      proxies.stopped++;
    };
  },
}));

const spec = new RoutineSpec(() => 1, {}, false);
const roster = new Roster();
/** What a session announces. */
const pool = (announcer?: string) => ({
  announcer,
  description: roster.describe(0) ?? Buffer.alloc(0),
  balancer: undefined,
});

beforeEach(() => {
  Object.assign(proxies, { made: 0, stopped: 0, busy: 0 });
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("makes one proxy for a pool, however often its description arrives", async () => {
  const cache = new ProxyCache(1000);
  expect(cache.announce(pool(), undefined)).toBe(cache.announce(pool(), undefined));
  expect(await cache.announce(pool(), undefined).call(spec, [], undefined)).toBe("called");
  await cache.announce(pool(), undefined).call(spec, [], undefined);
  expect(proxies).toMatchObject({ made: 1, stopped: 0 });
});

it("does not let one caller say who is in the pool of another", () => {
  const cache = new ProxyCache(1000);
  const [own, other] = [cache.announce(pool("a"), undefined), cache.announce(pool("b"), undefined)];
  expect(own).not.toBe(other);
  expect(own).toBe(cache.announce(pool("a"), undefined));
});

it("closes a proxy that is not used for its time to live, and makes another when it is needed again", async () => {
  const cache = new ProxyCache(1000);
  await cache.announce(pool(), undefined).call(spec, [], undefined);
  await vi.advanceTimersByTimeAsync(600);
  await cache.announce(pool(), undefined).call(spec, [], undefined);
  await vi.advanceTimersByTimeAsync(999);
  expect(proxies).toMatchObject({ made: 1, stopped: 0 });
  await vi.advanceTimersByTimeAsync(100);
  expect(proxies).toMatchObject({ made: 1, stopped: 1 });
  await cache.announce(pool(), undefined).call(spec, [], undefined);
  expect(proxies).toMatchObject({ made: 2, stopped: 1 });
});

it("keeps a proxy that has calls", async () => {
  const cache = new ProxyCache(1000);
  await cache.announce(pool(), undefined).call(spec, [], undefined);
  proxies.busy = 1;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(proxies.stopped).toBe(0);
  proxies.busy = 0;
  await vi.advanceTimersByTimeAsync(1000);
  expect(proxies.stopped).toBe(1);
});

it("forgets a pool that no session knows any more, once its proxy is closed", async () => {
  const cache = new ProxyCache(1000);
  const [first, second] = [cache.announce(pool(), undefined), cache.announce(pool(), undefined)];
  expect(cache.announce(pool(), first)).toBe(first);
  await first.call(spec, [], undefined);
  first.release();
  second.release();
  expect(cache.announce(pool(), undefined)).toBe(first);
  first.release();
  await vi.advanceTimersByTimeAsync(1100);
  expect(proxies.stopped).toBe(1);
  expect(cache.announce(pool(), undefined)).not.toBe(first);
});
