import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Shutdown, type Stoppable } from "./shutdown.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A service whose tasks end when the test says so. */
function makeShutdown() {
  const log: string[] = [];
  let end = (): void => undefined;
  let settle = (): void => undefined;
  const service: Stoppable = {
    drain: () => {
      log.push("drain");
      return new Promise((resolve) => {
        end = resolve;
      });
    },
    cancel: () => log.push("cancel"),
    settle: () => {
      log.push("settle");
      return new Promise((resolve) => {
        settle = resolve;
      });
    },
    close: async (grace) => void log.push(`close ${grace}`),
  };
  const shutdown = new Shutdown(service, { cancelGrace: 1000, flushGrace: 50 });
  return { shutdown, log, endTasks: () => end(), settle: () => settle() };
}

const pass = async (ms: number) => await vi.advanceTimersByTimeAsync(ms);

describe("Shutdown", () => {
  it("by 0 cancels at once, and closes when the tasks have ended", async () => {
    const { shutdown, log, endTasks, settle } = makeShutdown();
    const ended = shutdown.request(0);
    expect([shutdown.state, log]).toEqual(["cancelling", ["drain", "cancel"]]);
    endTasks();
    await pass(1);
    settle();
    await ended;
    await pass(1);
    await shutdown.ended;
    expect(log).toEqual(["drain", "cancel", "settle", "close 50"]);
  });

  it("waits for cancelled tasks no longer than the grace period", async () => {
    const { shutdown } = makeShutdown();
    void shutdown.request(0);
    await pass(999);
    expect(shutdown.state).toBe("cancelling");
    await pass(1);
    expect(shutdown.state).toBe("closing");
  });

  it("above 0 waits that long and then cancels", async () => {
    const { shutdown, log } = makeShutdown();
    void shutdown.request(200);
    await pass(199);
    expect(log).toEqual(["drain"]);
    await pass(1);
    expect(log).toEqual(["drain", "cancel"]);
  });

  it("above 0 cancels nothing when the tasks end by themselves", async () => {
    const { shutdown, log, endTasks } = makeShutdown();
    void shutdown.request(200);
    endTasks();
    await pass(1001);
    expect(log).toEqual(["drain", "settle", "close 50"]);
  });

  it.each([-1, 1e12])("%d waits for all", async (timeout) => {
    const { shutdown, log, endTasks } = makeShutdown();
    void shutdown.request(timeout);
    await pass(10 * 3_600_000);
    expect([shutdown.state, log]).toEqual(["waiting", ["drain"]]);
    endTasks();
    await pass(1);
    expect(log).toEqual(["drain", "settle"]);
  });

  it("gives what tasks have left the grace period from the last task on, and no more", async () => {
    const { shutdown, log, endTasks } = makeShutdown();
    void shutdown.request(-1);
    await pass(5000);
    endTasks();
    await pass(999);
    expect([shutdown.state, log]).toEqual(["settling", ["drain", "settle"]]);
    await pass(2);
    expect(log).toEqual(["drain", "settle", "close 50"]);
  });

  it("gives what cancelled tasks have left only the rest of their grace period", async () => {
    const { shutdown, endTasks } = makeShutdown();
    void shutdown.request(0);
    await pass(900);
    endTasks();
    await pass(99);
    expect(shutdown.state).toBe("settling");
    await pass(1);
    expect(shutdown.state).toBe("closing");
  });

  it("settles nothing when tasks end after it was closed", async () => {
    const { shutdown, log, endTasks } = makeShutdown();
    void shutdown.request(0);
    await pass(1001);
    endTasks();
    await pass(1);
    expect(log).toEqual(["drain", "cancel", "close 50"]);
  });

  it("a signal hurries it also when only leftovers are waited for", async () => {
    const { shutdown, endTasks } = makeShutdown();
    shutdown.signal(-1);
    endTasks();
    await pass(1);
    expect(shutdown.state).toBe("settling");
    shutdown.signal(-1);
    expect(shutdown.state).toBe("closing");
  });

  it("of several requests takes the shortest time, whatever their order", async () => {
    const { shutdown } = makeShutdown();
    void shutdown.request(500);
    void shutdown.request(-1);
    void shutdown.request(5000);
    await pass(100);
    void shutdown.request(50);
    await pass(49);
    expect(shutdown.state).toBe("waiting");
    await pass(1);
    expect(shutdown.state).toBe("cancelling");
  });

  it("a request is no reason to give cancelled tasks up", async () => {
    const { shutdown, log } = makeShutdown();
    void shutdown.request(0);
    void shutdown.request(0);
    void shutdown.request(-1);
    expect([shutdown.state, log]).toEqual(["cancelling", ["drain", "cancel"]]);
  });

  it.each([
    ["SIGINT, SIGINT, SIGINT", [-1, -1, -1], ["waiting", "cancelling", "closing"]],
    ["SIGTERM, SIGTERM", [0, 0], ["cancelling", "closing"]],
    ["SIGINT, SIGTERM", [-1, 0], ["waiting", "cancelling"]],
    ["SIGTERM, SIGINT", [0, -1], ["cancelling", "closing"]],
  ])("a further signal hurries: %s", async (_signals, timeouts, states) => {
    const { shutdown } = makeShutdown();
    const seen = timeouts.map((timeout) => {
      shutdown.signal(timeout);
      return shutdown.state;
    });
    expect(seen).toEqual(states);
  });

  it("closes once", async () => {
    const { shutdown, log, endTasks } = makeShutdown();
    for (let i = 0; i < 5; i++) shutdown.signal(0);
    endTasks();
    await pass(5000);
    expect(log.filter((line) => line.startsWith("close"))).toHaveLength(1);
  });
});
