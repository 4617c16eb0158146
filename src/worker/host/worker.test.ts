import { describe, expect, it } from "vitest";
import type { WorkerMetadata } from "../../discovery/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker-options.ts";

/** Starts and stops when the test says so. */
class TestWorker extends Worker {
  readonly asked: string[] = [];
  finishStart: () => void = () => undefined;
  failStart: (error: Error) => void = () => undefined;
  stopError: Error | undefined;
  /** What its start returns instead of metadata. */
  starts: { readonly as: unknown } | undefined;

  get given(): WorkerOptions {
    return this.options;
  }

  protected override onStart(timeout: number): Promise<WorkerMetadata> {
    this.asked.push(`start ${timeout}`);
    return new Promise((resolve, reject) => {
      this.finishStart = () =>
        resolve(this.starts === undefined ? this.described() : (this.starts.as as WorkerMetadata));
      this.failStart = reject;
    });
  }

  described(): WorkerMetadata {
    const { uid, tags, extra } = this;
    return { uid, address: "127.0.0.1:1", pid: 1, version: "", tags, extra, secure: false, channel: {} };
  }

  lose(): void {
    this.changed({ kind: "lost", metadata: this.described(), reason: "gone", final: false });
  }

  comeBack(address: string): void {
    this.changed({ kind: "back", metadata: { ...this.described(), address } });
  }

  protected override onHurry(timeout: number): void {
    this.asked.push(`hurry ${timeout}`);
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
    expect(worker.asked).toEqual(["start 5", "stop Infinity"]);
  });

  it("is started once: not again while it starts, runs, or after it was stopped", async () => {
    const worker = new TestWorker();
    const starting = worker.start();
    await expect(worker.start()).rejects.toThrow(/is starting: a worker can be started only once/);
    worker.finishStart();
    await starting;
    await expect(worker.start()).rejects.toThrow(/is running/);
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual(["start Infinity", "stop 0"]);
  });

  it("that could not be started is stopped", async () => {
    const worker = new TestWorker();
    const starting = worker.start();
    worker.failStart(new RangeError("no port"));
    await expect(starting).rejects.toThrow("no port");
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual(["start Infinity"]);
  });

  it("that was never started needs no stopping, and cannot be started after it", async () => {
    const worker = new TestWorker();
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/is stopped/);
    expect(worker.asked).toEqual([]);
  });

  it("is stopped once, whoever asks; less time than before hurries it", async () => {
    const worker = await started();
    const first = worker.stop({ timeout: 10_000 });
    await Promise.all([first, worker.stop({ timeout: -1 }), worker.stop({ timeout: 500 }), worker.stop()]);
    await worker.stop();
    expect(worker.asked).toEqual(["start Infinity", "stop 10000", "hurry 500", "hurry 0"]);
  });

  it.each([Number.NaN, "5", null])("refuses %s as a time to stop or to start in", async (timeout) => {
    const worker = await started();
    // @ts-expect-error Not a number of milliseconds.
    await expect(worker.stop({ timeout })).rejects.toThrow(/TestWorker\.stop\(\).*"timeout" must be a number/);
    // @ts-expect-error The same.
    await expect(new TestWorker().start({ timeout })).rejects.toThrow(/TestWorker\.start\(\).*"timeout" must be/);
    expect(worker.asked).toEqual(["start Infinity"]);
    await worker.stop();
  });

  it.each<[unknown, string]>([
    [{ timout: 5 }, 'TestWorker.start() has no option "timout"; did you mean "timeout"?'],
    [{ timeout: "5" }, '"timeout" must be a number of milliseconds, zero or more, not "5"'],
    [{ timeout: -1 }, "not -1"],
    [5, "TestWorker.start() takes an options object, not 5"],
    [null, "TestWorker.start() takes an options object, not null"],
  ])("is not started with %j for options", async (options, message) => {
    const worker = new TestWorker();
    const starting = worker.start(options as { timeout?: number });
    await expect(starting).rejects.toThrow(InvalidArgument);
    await expect(starting).rejects.toThrow(message);
    expect(worker.asked).toEqual([]);
  });

  it("tells those who watch it when it is lost and when it is back, and nobody before its start or after its stop", async () => {
    const worker = new TestWorker();
    const seen: string[] = [];
    using watch = worker.watch(({ kind, metadata }) => seen.push(`${kind} ${metadata.address}`));
    worker.lose();
    const starting = worker.start();
    worker.finishStart();
    await starting;
    worker.lose();
    worker.comeBack("127.0.0.1:2");
    expect(worker.address).toBe("127.0.0.1:2");
    expect(seen).toEqual(["lost 127.0.0.1:1", "back 127.0.0.1:2"]);
    watch[Symbol.dispose]();
    worker.lose();
    await worker.stop();
    worker.watch(({ kind }) => seen.push(kind));
    worker.lose();
    expect(seen).toHaveLength(2);
  });

  it.each([
    ["nothing", undefined],
    ["metadata without an address", { uid: "x" }],
    ["an address that is none", { address: "nowhere" }],
  ])("whose onStart gives %s is stopped, and says what is wrong", async (_what, metadata) => {
    const worker = new TestWorker();
    worker.starts = { as: metadata };
    const starting = worker.start();
    worker.finishStart();
    await expect(starting).rejects.toThrow(/is not the metadata of a worker/);
    expect(worker.asked).toEqual(["start Infinity", "stop 0"]);
    expect(worker.metadata).toBeUndefined();
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
