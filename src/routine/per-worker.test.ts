import { afterEach, describe, expect, it, vi } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { ValueDecoder, ValueEncoder } from "../values/index.ts";
import { disposeThreadValues, perWorker } from "./per-worker.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await disposeThreadValues();
});

describe("perWorker", () => {
  it("makes the value at the first use, and once", () => {
    const create = vi.fn(() => ({ made: true }));
    const handle = perWorker(create);
    expect(create).not.toHaveBeenCalled();
    expect(handle.get()).toBe(handle.get());
    expect(create).toHaveBeenCalledTimes(1);
  });

  it("tries again after a failure", async () => {
    let tries = 0;
    const thrown = perWorker(() => {
      tries += 1;
      if (tries === 1) throw new Error("not yet");
      return tries;
    });
    expect(() => thrown.get()).toThrow("not yet");
    expect(thrown.get()).toBe(2);
    let calls = 0;
    const rejected = perWorker(async () => {
      calls += 1;
      if (calls === 1) throw new Error("not yet");
      return calls;
    });
    await expect(rejected.get()).rejects.toThrow("not yet");
    expect(await rejected.get()).toBe(2);
  });

  it("is the same however often the handle comes", () => {
    const handle = perWorker(() => ({}));
    const payload = Buffer.from(new ValueEncoder().encode({ handle, again: handle }));
    const decoder = new ValueDecoder();
    const values = [1, 2].map(() => decoder.decode(payload) as { handle: typeof handle; again: typeof handle });
    for (const { handle: copy, again } of values) {
      expect(copy).toBe(again);
      expect(copy.get()).toBe(handle.get());
    }
  });

  it("takes functions only", () => {
    expect(() => perWorker({} as never)).toThrow(InvalidArgument);
    expect(() => perWorker(() => 1, 5 as never)).toThrow(/perWorker\(\) takes a function that ends the value/);
  });
});

describe("disposeThreadValues", () => {
  it("disposes of what was made, the newest first, each in its own way", async () => {
    const ended: string[] = [];
    const first = perWorker(
      () => "first",
      (value) => ended.push(value),
    );
    const second = perWorker(async () => ({
      [Symbol.asyncDispose]: async () => {
        await Promise.resolve();
        ended.push("second");
      },
    }));
    const third = perWorker(() => ({ [Symbol.dispose]: () => ended.push("third") }));
    const never = perWorker(
      () => "never",
      (value) => ended.push(value),
    );
    first.get();
    await second.get();
    third.get();
    await disposeThreadValues();
    expect(ended).toEqual(["third", "second", "first"]);
    await disposeThreadValues();
    expect(ended).toHaveLength(3);
    expect(never.get()).toBe("never");
  });

  it("goes on after a failure, and reports it", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const ended: string[] = [];
    const first = perWorker(
      () => "first",
      (value) => ended.push(value),
    );
    const second = perWorker(
      () => "second",
      () => Promise.reject(new Error("stuck")),
    );
    first.get();
    second.get();
    await disposeThreadValues();
    expect(ended).toEqual(["first"]);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("stuck"), {
      type: "WoolWarning",
      code: "WOOL_PER_WORKER_DISPOSAL",
    });
  });
});
