import { describe, expect, it } from "vitest";
import type { DnsRecord } from "../dns-message.ts";
import { RecordCache } from "./record-cache.ts";

const pointer = (data: string, ttl = 100): DnsRecord => ({ type: "PTR", name: "_T.local", ttl, data });
const address = (data: string, flush = true): DnsRecord => ({ type: "A", name: "h.local", ttl: 100, data, flush });
const dataOf = (cache: RecordCache) => cache.find("A", "H.local").map(({ record }) => record.data);

describe("RecordCache", () => {
  it("keeps a record for its time, and hears it again without a change", () => {
    const cache = new RecordCache(10);
    expect(cache.add(pointer("a"), "eth0", 0)).toBe(true);
    expect(cache.add(pointer("a"), "eth0", 50_000)).toBe(false);
    expect(cache.expire(149_999)).toEqual([]);
    expect(cache.find("PTR", "_t.LOCAL", "A")).toHaveLength(1);
    expect(cache.expire(150_000)).toEqual([pointer("a")]);
    expect(cache.size).toBe(0);
  });

  it("lets a record go a second after its goodbye", () => {
    const cache = new RecordCache(10);
    cache.add(pointer("a"), "eth0", 0);
    expect(cache.add(pointer("a", 0), "eth0", 5000)).toBe(true);
    expect(cache.expire(5999)).toEqual([]);
    expect(cache.expire(6000)).toHaveLength(1);
    expect(cache.add(pointer("b", 0), "eth0", 5000)).toBe(false);
  });

  it("lets those go that a newer record replaces, but none that came with it or from elsewhere", () => {
    const cache = new RecordCache(10);
    cache.add(address("10.0.0.1"), "eth0", 0);
    cache.add(address("10.1.0.1"), "eth1", 0);
    cache.add(address("10.0.0.2"), "eth0", 5000);
    cache.add(address("10.0.0.3"), "eth0", 5500);
    cache.expire(6500);
    expect(dataOf(cache).sort()).toEqual(["10.0.0.2", "10.0.0.3", "10.1.0.1"]);
  });

  it("asks for a record again at 80, 85, 90 and 95 % of its time, and once each", () => {
    const cache = new RecordCache(10);
    cache.add(pointer("a"), "eth0", 0);
    const asked: number[] = [];
    for (let now = 0; now < 100_000; now += 500) if (cache.renewals("PTR", now).length > 0) asked.push(now / 1000);
    expect(asked).toEqual([80, 85, 90, 95]);
    expect(cache.nextDue("PTR")).toBe(100_000);
  });

  it("takes no more than it has room for", () => {
    const cache = new RecordCache(2);
    expect(["a", "b", "c"].map((data) => cache.add(pointer(data), "eth0", 0))).toEqual([true, true, false]);
    cache.expire(100_000);
    expect(cache.add(pointer("c"), "eth0", 100_000)).toBe(true);
  });
});
