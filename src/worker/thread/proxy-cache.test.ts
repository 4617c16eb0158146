import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RoutineSpec } from "../../routine/routine-spec.ts";
import { ProxyCache } from "./proxy-cache.ts";

const proxies = vi.hoisted(() => ({ made: 0, stopped: 0, busy: 0 }));

vi.mock("../../proxy/index.ts", () => ({
  discoveryFor: () => ({}),
  readScope: () => ({}),
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
const pool = () => Uint8Array.of(1, 2, 3);

beforeEach(() => {
  Object.assign(proxies, { made: 0, stopped: 0, busy: 0 });
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("makes one proxy for a pool, however often its description arrives", async () => {
  const cache = new ProxyCache(1000);
  expect(cache.carrier(pool())).toBe(cache.carrier(pool()));
  expect(await cache.carrier(pool()).call(spec, [], undefined)).toBe("called");
  await cache.carrier(pool()).call(spec, [], undefined);
  expect(proxies).toMatchObject({ made: 1, stopped: 0 });
});

it("closes a proxy that is not used for its time to live, and makes another when it is needed again", async () => {
  const cache = new ProxyCache(1000);
  await cache.carrier(pool()).call(spec, [], undefined);
  await vi.advanceTimersByTimeAsync(600);
  await cache.carrier(pool()).call(spec, [], undefined);
  await vi.advanceTimersByTimeAsync(999);
  expect(proxies).toMatchObject({ made: 1, stopped: 0 });
  await vi.advanceTimersByTimeAsync(100);
  expect(proxies).toMatchObject({ made: 1, stopped: 1 });
  await cache.carrier(pool()).call(spec, [], undefined);
  expect(proxies).toMatchObject({ made: 2, stopped: 1 });
});

it("keeps a proxy that has calls", async () => {
  const cache = new ProxyCache(1000);
  await cache.carrier(pool()).call(spec, [], undefined);
  proxies.busy = 1;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(proxies.stopped).toBe(0);
  proxies.busy = 0;
  await vi.advanceTimersByTimeAsync(1000);
  expect(proxies.stopped).toBe(1);
});
