import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { LocalDiscovery } from "./local-discovery.ts";

const watch = vi.hoisted(() => vi.fn());

vi.mock("node:fs", async (importOriginal) => ({ ...(await importOriginal<typeof import("node:fs")>()), watch }));

const worker: WorkerMetadata = {
  uid: "a",
  address: "host:1",
  pid: process.pid,
  version: "1",
  tags: new Set(),
  extra: {},
  secure: false,
  channel: {},
};

let scratch: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-test-"));
});

afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

describe("a local subscription without file watching", () => {
  it("polls", async () => {
    watch.mockImplementation(() => {
      throw Object.assign(new Error("System limit for number of file watchers reached"), { code: "ENOSPC" });
    });
    const discovery = new LocalDiscovery("test", { directory: scratch, pollInterval: 5 });
    const events = discovery.subscribe()[Symbol.asyncIterator]();
    const added = events.next();
    await discovery.publisher.publish("worker-added", worker);
    expect((await added).value).toEqual({ type: "worker-added", worker });
    await discovery.publisher.publish("worker-dropped", worker);
    expect((await events.next()).value).toEqual({ type: "worker-dropped", worker });
    expect(watch).toHaveBeenCalled();
    await discovery.dispose();
  });
});
