import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  CertificateAuthority,
  credentialsProblem,
  providerOf,
  type Validity,
  WorkerCredentials,
  WorkerCredentialsProvider,
} from "./index.ts";

const authority = new CertificateAuthority(CertificateAuthority.create());
const DAY_MS = 86_400_000;

function issue(validity: Validity = {}): WorkerCredentials {
  return new WorkerCredentials({ ca: authority.cert, ...authority.issue({ role: "worker", ...validity }) });
}

let warnings: string[];
const listener = (warning: Error): void => void warnings.push(warning.message);
const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  warnings = [];
  process.on("warning", listener);
});
afterEach(() => {
  process.off("warning", listener);
  vi.useRealTimers();
});

describe("WorkerCredentialsProvider", () => {
  it("asks its factory for each connection, but not twice at once", async () => {
    let asked = 0;
    const provider = new WorkerCredentialsProvider(async () => {
      asked++;
      return issue();
    });
    const [one, other] = await Promise.all([provider.load(), provider.load()]);
    expect([asked, one === other]).toEqual([1, true]);
    expect(await provider.load()).not.toBe(one);
    expect(asked).toBe(2);
  });

  it("asks it once when it is not reloadable", async () => {
    const factory = vi.fn(() => issue());
    const provider = new WorkerCredentialsProvider(factory, { reloadable: false });
    expect(await provider.load()).toBe(await provider.load());
    expect(factory).toHaveBeenCalledTimes(1);
  });

  it("uses the former ones when the factory fails, and warns once", async () => {
    let fails = false;
    const good = issue();
    const provider = new WorkerCredentialsProvider(() => {
      if (fails) throw new Error("the disk is gone");
      return good;
    });
    await provider.load();
    fails = true;
    expect([await provider.load(), await provider.load()]).toEqual([good, good]);
    await settled();
    expect(warnings).toEqual(["cannot get new credentials, and the old ones stay in use: the disk is gone"]);
    await expect(provider.refresh()).rejects.toThrow("the disk is gone");
  });

  it("rejects when there never were any, and when what came are none", async () => {
    const failing = new WorkerCredentialsProvider(() => Promise.reject(new Error("sealed")));
    await expect(failing.load()).rejects.toThrow("sealed");
    const wrong = new WorkerCredentialsProvider(() => ({ ca: "" }) as never);
    await expect(wrong.load()).rejects.toThrow("must return WorkerCredentials, not an object");
  });

  it("tells workers of new credentials, and of the same ones not", async () => {
    let current = issue();
    const told: WorkerCredentials[] = [];
    const provider = new WorkerCredentialsProvider(() => current);
    await provider.load();
    const stop = provider.subscribe((credentials) => told.push(credentials));
    await provider.refresh();
    expect(told).toEqual([]);
    current = issue();
    await provider.refresh();
    expect(told).toEqual([current]);
    stop();
    current = issue();
    await provider.refresh();
    expect(told).toHaveLength(1);
  });

  it("asks again for running workers when two thirds of the time of their certificate are over", async () => {
    vi.useFakeTimers();
    let current = issue({ notAfter: new Date(Date.now() + 0.3 * DAY_MS) });
    const provider = new WorkerCredentialsProvider(() => current);
    await provider.load();
    const told: WorkerCredentials[] = [];
    const stop = provider.subscribe((credentials) => told.push(credentials));
    current = issue();
    await vi.advanceTimersByTimeAsync(0.19 * DAY_MS);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(0.02 * DAY_MS);
    expect(told).toEqual([current]);
    stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stands for credentials that never change, one provider for each", async () => {
    const credentials = issue();
    expect(providerOf(credentials)).toBe(providerOf(credentials));
    expect(await providerOf(credentials).load()).toBe(credentials);
    expect([credentialsProblem(credentials), credentialsProblem(providerOf(credentials))]).toEqual([
      undefined,
      undefined,
    ]);
    expect(credentialsProblem({})).toBe("WorkerCredentials or a WorkerCredentialsProvider");
  });

  it("refuses wrong options", () => {
    expect(() => new WorkerCredentialsProvider("x" as never)).toThrow("a function that returns WorkerCredentials");
    expect(() => new WorkerCredentialsProvider(issue, { identity: "" })).toThrow("identity must be a name");
    expect(() => new WorkerCredentialsProvider(issue, { reloadable: 1 as never })).toThrow("reloadable must be");
  });
});
