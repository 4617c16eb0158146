import { describe, expect, test } from "vitest";
import {
  type AuthorizeContext,
  type AuthorizeLike,
  events,
  LocalWorker,
  NoWorkersAvailable,
  PermissionDenied,
  routine,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { TestAuthority } from "../../support/certificates.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";

expectNothingLeft();

const authority = new TestAuthority();
const ada = authority.client({ names: ["spiffe://example.org/ada", "ada.example"] });
const bob = authority.client({ names: ["bob.example"] });
const read = routine(async () => "read", { name: "read" });
const write = routine(async () => "written", { name: "write" });

async function workerWith(authorize: AuthorizeLike): Promise<LocalWorker> {
  const worker = new LocalWorker({ host: "127.0.0.1", credentials: authority.worker(), authorize });
  await worker.start();
  return worker;
}

function proxyTo(worker: LocalWorker, credentials = ada): WorkerProxy {
  return new WorkerProxy({ workers: [worker.metadata ?? ""], credentials });
}

describe("an authorize hook", () => {
  test("decides by who the caller is and what it wants to run", async () => {
    await using worker = await workerWith(
      ({ peer, task }) => peer?.spiffeId === "spiffe://example.org/ada" || task.name === "read",
    );
    const evicted: string[] = [];
    using _events = events.on("worker-evicted", (event) => evicted.push(event.worker.uid));
    await using byAda = proxyTo(worker);
    await using byBob = proxyTo(worker, bob);
    expect([await byAda.dispatch(read), await byAda.dispatch(write)]).toEqual(["read", "written"]);
    expect(await byBob.dispatch(read)).toBe("read");
    const reason = await reasonOf(byBob.dispatch(write));
    expect(reason).toBeInstanceOf(NoWorkersAvailable);
    const [denied] = (reason as NoWorkersAvailable).errors;
    expect(denied).toBeInstanceOf(PermissionDenied);
    expect(denied).toMatchObject({ code: "WOOL_PERMISSION_DENIED", status: 7 });
    expect(denied?.message).toContain("bob.example may not run write here");
    // It is of no consequence for other calls.
    expect([await byBob.dispatch(read), evicted]).toEqual(["read", []]);
  });

  test("sees the identity, and the worker in nested calls", async () => {
    const seen = routine(async () => {
      const { authorized = [] } = globalThis as { authorized?: AuthorizeContext[] };
      return authorized.map(({ peer, task }) => [peer?.names, task.name, task.caller !== undefined]);
    });
    const outer = routine(async () => await seen(), { name: "outer" });
    const credentials = authority.worker();
    await using pool = await WorkerPool.start({
      size: 1,
      credentials,
      workerOptions: {
        authorize: (context) => {
          const host = globalThis as { authorized?: AuthorizeContext[] };
          host.authorized ??= [];
          host.authorized.push(context);
          return true;
        },
      },
    });
    const names = ["localhost", "127.0.0.1"];
    expect(await pool.dispatch(outer)).toEqual([
      [names, "outer", false],
      [names, expect.any(String), true],
    ]);
  });

  test("may take its time, and is asked before the backpressure hook", async () => {
    await using worker = new LocalWorker({
      authorize: async ({ peer }) => await Promise.resolve(peer !== undefined),
      backpressure: () => {
        throw new Error("it must not be asked");
      },
    });
    await worker.start();
    await using proxy = new WorkerProxy({ workers: [worker.metadata ?? ""] });
    const reason = await reasonOf(proxy.dispatch(read));
    expect((reason as NoWorkersAvailable).errors[0]?.message).toContain(
      "a caller without a certificate may not run read here",
    );
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no database")), "its authorize hook failed: no database"],
    ["says neither yes nor no", () => undefined, "its authorize hook failed: it returned undefined"],
  ])("that %s lets nobody in", async (_name, authorize, says) => {
    await using worker = await workerWith(authorize as unknown as AuthorizeLike);
    await using proxy = proxyTo(worker);
    const reason = await reasonOf(proxy.dispatch(read));
    expect((reason as NoWorkersAvailable).errors[0]?.message).toContain(says);
  });

  test("leaves a task to a worker that lets it run", async () => {
    await using strict = await workerWith(() => false);
    await using open = await workerWith(() => true);
    await using proxy = new WorkerProxy({
      workers: [strict.metadata ?? "", open.metadata ?? ""],
      credentials: ada,
    });
    for (let i = 0; i < 6; i++) expect(await proxy.dispatch(read)).toBe("read");
    expect(proxy.workers.size).toBe(2);
  });
});
