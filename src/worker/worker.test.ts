import { describe, expect, it } from "vitest";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker-options.ts";

/** Starts and stops when told to. */
class TestWorker extends Worker {
  readonly asked: string[] = [];
  finishStart: () => void = () => undefined;
  failStart: (error: Error) => void = () => undefined;
  stopError: Error | undefined;

  get given(): WorkerOptions {
    return this.options;
  }

  protected override onStart(timeout: number | undefined): Promise<WorkerMetadata> {
    this.asked.push(`start ${timeout}`);
    return new Promise((resolve, reject) => {
      this.finishStart = () =>
        resolve({
          uid: this.uid,
          address: "127.0.0.1:1",
          pid: 1,
          version: "",
          tags: this.tags,
          extra: this.extra,
          secure: false,
          channel: {},
        });
      this.failStart = reject;
    });
  }

  protected override async onStop(timeout: number): Promise<void> {
    this.asked.push(`stop ${timeout}`);
    if (this.stopError !== undefined) throw this.stopError;
  }
}

async function started(options?: WorkerOptions): Promise<TestWorker> {
  const worker = new TestWorker(options);
  const starting = worker.start();
  worker.finishStart();
  await starting;
  return worker;
}

describe("Worker", () => {
  it("has a name of its own, and what its options say", () => {
    const worker = new TestWorker({ tags: ["gpu", "gpu"], extra: { zone: "a" } });
    expect(worker.uid).toMatch(/^w-[0-9a-f]{12}$/);
    expect(new TestWorker().uid).not.toBe(worker.uid);
    expect([worker.tags, worker.extra]).toEqual([new Set(["gpu"]), { zone: "a" }]);
    expect([worker.metadata, worker.address]).toEqual([undefined, undefined]);
  });

  it("refuses wrong options in the name of its class", () => {
    expect(() => new TestWorker({ threads: 0 })).toThrow(InvalidArgument);
    expect(() => new TestWorker({ threads: 0 })).toThrow(/^TestWorker/);
  });

  it("is reached once it was started", async () => {
    const worker = await started();
    expect(worker.metadata?.uid).toBe(worker.uid);
    expect(worker.address).toBe("127.0.0.1:1");
  });

  it("hands the time limits on", async () => {
    const worker = new TestWorker();
    const starting = worker.start({ timeout: 5 });
    worker.finishStart();
    await starting;
    await worker.stop({ timeout: -1 });
    expect(worker.asked).toEqual(["start 5", "stop -1"]);
  });

  it("is started once: not again while it starts, runs, or after it was stopped", async () => {
    const worker = new TestWorker();
    const starting = worker.start();
    await expect(worker.start()).rejects.toThrow(/is starting: a worker is started once/);
    worker.finishStart();
    await starting;
    await expect(worker.start()).rejects.toThrow(/is running/);
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual(["start undefined", "stop 0"]);
  });

  it("that could not be started is stopped", async () => {
    const worker = new TestWorker();
    const starting = worker.start();
    worker.failStart(new RangeError("no port"));
    await expect(starting).rejects.toThrow("no port");
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual(["start undefined"]);
  });

  it("that was never started needs no stopping, and cannot be started after it", async () => {
    const worker = new TestWorker();
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual([]);
  });

  it("is stopped once, whoever asks, with the first one's limit", async () => {
    const worker = await started();
    await Promise.all([worker.stop({ timeout: 7 }), worker.stop(), worker.stop({ timeout: 1 })]);
    await worker.stop();
    expect(worker.asked).toEqual(["start undefined", "stop 7"]);
  });

  it("is stopped at the end of its scope", async () => {
    const worker = await started();
    {
      await using _scope = worker;
    }
    expect(worker.asked.at(-1)).toBe("stop 0");
  });

  it("whose stop fails says so to all who asked, and counts as stopped", async () => {
    const worker = await started();
    worker.stopError = new RangeError("stuck");
    const stops = await Promise.allSettled([worker.stop(), worker.stop()]);
    expect(stops.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(worker.stop()).resolves.toBeUndefined();
  });

  it("that is stopped while it starts does not run in the end", async () => {
    const worker = new TestWorker();
    const starting = worker.start().catch(() => undefined);
    const stopping = worker.stop();
    worker.finishStart();
    await Promise.all([starting, stopping]);
    await expect(worker.start()).rejects.toThrow(/is stopped/);
  });
});
