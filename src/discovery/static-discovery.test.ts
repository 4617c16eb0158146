import { describe, expect, it, vi } from "vitest";
import { until } from "../../test/support/until.ts";
import { InvalidArgument } from "../errors.ts";
import { GrpcServer } from "../grpc/index.ts";
import { encodeDescribeResponse } from "../wire/index.ts";
import { StaticDiscovery } from "./static-discovery.ts";
import { type WorkerMetadata, workerToJson } from "./worker-metadata.ts";

const described: WorkerMetadata = {
  uid: "w1",
  address: "unix:/run/w1.sock",
  pid: 7,
  version: "1.2.3",
  tags: new Set(["gpu"]),
  extra: {},
  secure: true,
  channel: {},
};

describe("StaticDiscovery", () => {
  it("adds its workers and then waits", async () => {
    const events = new StaticDiscovery([described, "127.0.0.1:1"]).subscribe()[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({ type: "worker-added", worker: described });
    expect((await events.next()).value).toMatchObject({
      type: "worker-added",
      worker: { uid: "127.0.0.1:1", address: "127.0.0.1:1", secure: false },
    });
    const pending = events.next();
    await events.return?.();
    expect((await pending).done).toBe(true);
  });

  it("takes what the filter lets pass", async () => {
    const discovery = new StaticDiscovery([described, "host:1"], { secure: true });
    const events = discovery.subscribe(({ tags }) => tags.size === 0)[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ worker: { uid: "host:1", secure: true } });
    await events.return?.();
  });

  it("refuses two workers with one uid", () => {
    const other = { ...described, address: "unix:/run/w2.sock" };
    expect(() => new StaticDiscovery([described, other])).toThrow(InvalidArgument);
    expect(() => new StaticDiscovery([described, other])).toThrow(
      "StaticDiscovery: worker w1 is listed at unix:/run/w1.sock and at unix:/run/w2.sock: give each worker its own uid",
    );
    expect(() => new StaticDiscovery([described, { ...described, pid: 8 }])).toThrow(
      "worker w1 is listed twice at unix:/run/w1.sock, with different metadata",
    );
    expect(new StaticDiscovery([described, { ...described }]).workers).toHaveLength(2);
  });

  it("warns when two workers turn out to have one uid, and not of one with two addresses", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const serve = async (pid: number, ...hosts: string[]): Promise<string[]> => {
      const addresses: string[] = [];
      for (const host of hosts) {
        const server = new GrpcServer();
        closing.push(() => server.close());
        const text = JSON.stringify({ ...workerToJson({ ...described, secure: false }), pid });
        server.addUnary("/wool.v1.Worker/Describe", () => encodeDescribeResponse(text));
        const { port } = await server.listen({ host, port: 0 });
        addresses.push(`${host}:${port}`);
      }
      return addresses;
    };
    const closing: (() => Promise<void>)[] = [];
    const [first = "", again = ""] = await serve(7, "127.0.0.1", "127.0.0.2");
    const [twin = ""] = await serve(8, "127.0.0.3");
    const added: string[] = [];
    const events = new StaticDiscovery([first, again, twin]).subscribe()[Symbol.asyncIterator]();
    void (async () => {
      for (let step = await events.next(); step.done !== true; step = await events.next())
        added.push(step.value.worker.uid);
    })();
    await until(() => warn.mock.calls.length > 0, "it is said that they are two");
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(
        /^workers at 127\.0\.0\.\d:\d+ and 127\.0\.0\.\d:\d+ share the uid w1: only the first one is used\. Give each/,
      ),
    ]);
    expect(String(warn.mock.calls[0]?.[0])).toContain(twin);
    expect(added).toEqual(["w1"]);
    await events.return?.();
    vi.restoreAllMocks();
    for (const close of closing) await close();
  });

  it("refuses what is no address or worker", () => {
    expect(() => new StaticDiscovery(["host"])).toThrow('the worker address "host" is neither');
    expect(() => new StaticDiscovery([{ ...described, pid: -1 }])).toThrow(InvalidArgument);
    // @ts-expect-error A list is needed also for one worker.
    expect(() => new StaticDiscovery("host:1")).toThrow("takes an array of addresses");
  });
});
