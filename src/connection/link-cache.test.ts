import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { timeoutsStartedBy } from "../../test/support/started-timeouts.ts";
import { PoolClosed } from "../errors.ts";
import { acquireLink, IDLE_LINK_MS, releaseLink } from "./link-cache.ts";
import type { WorkerLink } from "./worker-link.ts";

const held: WorkerLink[] = [];

function acquire(address: string): WorkerLink {
  const link = acquireLink(address, {});
  held.push(link);
  return link;
}

function release(link: WorkerLink, gone = false): void {
  held.splice(held.indexOf(link), 1);
  releaseLink(link, gone);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  for (const link of held.splice(0)) releaseLink(link, true);
  vi.runAllTimers();
  vi.useRealTimers();
});

describe("the links of a process", () => {
  it("are one for each worker, made without connecting", () => {
    const a = acquire("unix:/a.sock");
    expect(acquire("unix:/a.sock")).toBe(a);
    expect(acquire("unix:/b.sock")).not.toBe(a);
    expect(a.state).toBe("idle");
  });

  it("are others for other limits", () => {
    const narrow = acquireLink("unix:/a.sock", { limits: { maxAnnouncements: 5 } });
    const same = acquireLink("unix:/a.sock", { limits: { maxAnnouncements: 5 } });
    const wide = acquireLink("unix:/a.sock", { limits: { maxAnnouncements: 6 } });
    held.push(narrow, same, wide);
    expect(same).toBe(narrow);
    expect(wide).not.toBe(narrow);
  });

  it("that are being connected are closed with their last user, so that nothing keeps the program alive", async () => {
    const link = acquire("127.0.0.1:1");
    const connecting = link.connect().catch((error: unknown) => error);
    expect(link.state).toBe("connecting");
    release(link);
    expect(link.state).toBe("closed");
    expect(await connecting).toBeInstanceOf(Error);
  });

  it("stay for a while after their last user, and are closed then", async () => {
    const link = acquire("unix:/a.sock");
    acquire("unix:/a.sock");
    release(link);
    vi.advanceTimersByTime(IDLE_LINK_MS * 2);
    expect(link.state).toBe("idle");
    release(link);
    vi.advanceTimersByTime(IDLE_LINK_MS - 1);
    expect(link.state).toBe("idle");
    vi.advanceTimersByTime(1);
    expect(link.state).toBe("closed");
    await expect(link.connect()).rejects.toThrow(PoolClosed);
    expect(acquire("unix:/a.sock")).not.toBe(link);
  });

  it("are used again by whoever comes in time, and counted anew", () => {
    const link = acquire("unix:/a.sock");
    release(link);
    vi.advanceTimersByTime(IDLE_LINK_MS - 1);
    expect(acquire("unix:/a.sock")).toBe(link);
    vi.advanceTimersByTime(IDLE_LINK_MS * 3);
    expect(link.state).toBe("idle");
    release(link);
    vi.advanceTimersByTime(IDLE_LINK_MS);
    expect(link.state).toBe("closed");
  });

  it("are closed at once when the worker is gone and nobody else uses them", () => {
    const shared = acquire("unix:/a.sock");
    acquire("unix:/a.sock");
    release(shared, true);
    expect(shared.state).toBe("idle");
    release(shared, true);
    expect(shared.state).toBe("closed");
  });

  it("a link that was given up does not take its successor with it", () => {
    const old = acquire("unix:/a.sock");
    release(old, true);
    const successor = acquire("unix:/a.sock");
    releaseLink(old, true);
    expect(successor).not.toBe(old);
    expect(successor.state).toBe("idle");
    expect(acquire("unix:/a.sock")).toBe(successor);
  });

  it("an idle one does not keep the program alive", () => {
    const started = timeoutsStartedBy(() => release(acquire("unix:/a.sock")));
    expect(started.map((timeout) => timeout.hasRef())).toEqual([false]);
  });
});
