import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalWorker } from "wool-ts";
import { contentHash } from "../../../src/functions/index.ts";
import { ValueEncoder } from "../../../src/values/index.ts";
import { RawSession } from "../../support/raw-session.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

let folder: string;
/** A file that is there when code of the caller has run in the worker. */
let trace: string;
let worker: LocalWorker;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "wool-refused-"));
  trace = join(folder, "trace");
});
afterEach(async () => {
  await worker.stop();
  rmSync(folder, { recursive: true });
});

interface Sent {
  /** The dependency frames. */
  readonly dependencies: Uint8Array;
  /** The numbers of the dependencies. */
  readonly needs: number[];
  /** A value that leaves the trace where it is put together. */
  readonly value: Buffer;
}

/** Code that leaves the trace. */
function traceCode(): string {
  return `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(trace)}, "")`;
}

/** A function whose code does something as soon as it is put together, as no honest caller sends it. */
function trap(): Sent {
  const encoder = new ValueEncoder();
  let value = Buffer.from(encoder.encode(() => 1));
  const dependencies = encoder.dependencies.map(({ hash, data }, i) => {
    const changed = Buffer.from(JSON.stringify({ ...(data as object), text: `(${traceCode()},()=>1)` }));
    value = Buffer.from(value.toString("latin1").replaceAll(hash, contentHash(changed)), "latin1");
    return { number: i + 1, hash: contentHash(changed), data: changed };
  });
  return { dependencies: request({ dependencies }), needs: dependencies.map(({ number }) => number), value };
}

/** A module that leaves the trace when it is loaded. */
function trapModule(): Uint8Array {
  const data = Buffer.from(
    JSON.stringify({ kind: "module", specifier: `data:text/javascript,${encodeURIComponent(traceCode())}` }),
  );
  return request({ dependencies: [{ number: 1, hash: contentHash(data), data }] });
}

async function open(authorize: () => boolean | Promise<boolean>): Promise<RawSession> {
  worker = new LocalWorker({ authorize });
  await worker.start();
  const session = new RawSession(worker.address ?? "");
  session.read();
  return session;
}

/** Resolves when the worker has refused a task that comes last: everything before it has been read then. */
async function answered(session: RawSession): Promise<void> {
  const name = "no such language";
  session.send(request({ routes: [{ number: 99, name, target: `${name}:` }] }));
  session.send(request({ tasks: [{ id: 99, route: 99, sequence: 99n }] }));
  await until(() => session.received.includes(name), "the worker has answered");
}

describe("a caller that may run nothing has none of its code run, wherever it puts it:", () => {
  const refuse = (): boolean => false;
  const route = (needs: number[], code: Buffer): Uint8Array =>
    request({ routes: [{ number: 1, name: "r", needs, code, serializer: code }] });
  const task = (needs: number[] = []): Uint8Array => request({ tasks: [{ id: 1, route: 1, sequence: 1n, needs }] });

  const cases: [string, () => boolean | Promise<boolean>, () => Uint8Array[]][] = [
    ["in modules that it names", refuse, () => [trapModule(), route([1], Buffer.alloc(0)), task([1])]],
    [
      "in the routine, its serializer and its arguments",
      refuse,
      () => {
        const { dependencies, needs, value } = trap();
        const args = request({ tasks: [{ id: 1, route: 1, sequence: 1n, needs, args: value, context: value }] });
        return [dependencies, route(needs, value), args];
      },
    ],
    [
      "in the reason of an abort before its task",
      refuse,
      () => {
        const { dependencies, needs, value } = trap();
        return [
          dependencies,
          request({ aborts: [{ id: 1, early: true, reason: value, needs }] }),
          route([], Buffer.alloc(0)),
          task(),
        ];
      },
    ],
    [
      "in reasons and steps while the hook thinks",
      () => new Promise<boolean>(() => undefined),
      () => {
        const { dependencies, needs, value } = trap();
        return [
          dependencies,
          route(needs, value),
          task(),
          request({ aborts: [{ id: 1, reason: value, needs }] }),
          request({ steps: [{ id: 1, kind: 1, value, needs }] }),
          request({ cancels: [{ id: 1, reason: value, needs }] }),
        ];
      },
    ],
    [
      "in the balancer of a pool",
      refuse,
      () => {
        const { dependencies, needs, value } = trap();
        const description = Buffer.from(
          JSON.stringify({ id: "p", version: 1, isComplete: true, members: [], removed: [] }),
        );
        return [
          dependencies,
          request({ pools: [{ number: 1, description, balancer: value, needs }] }),
          route([], Buffer.alloc(0)),
          request({ tasks: [{ id: 1, route: 1, sequence: 1n, pool: 1 }] }),
        ];
      },
    ],
    [
      "in a function of a module that it names",
      refuse,
      () => {
        const target = `node:data:text/javascript,${encodeURIComponent(traceCode())}`;
        return [request({ routes: [{ number: 1, name: "r", target, encoding: "json" }] }), task()];
      },
    ],
  ];

  test.each(cases)("%s", async (_name, authorize, messages) => {
    using session = await open(authorize);
    for (const message of messages()) session.send(message);
    await answered(session);
    expect(existsSync(trace)).toBe(false);
  });

  test("whereas one that may leaves its trace", async () => {
    using session = await open(() => true);
    session.send(trapModule());
    session.send(route([1], Buffer.alloc(0)));
    session.send(task([1]));
    await until(() => existsSync(trace), "the module was loaded");
  });

  test("whereas values of one that may are put together", async () => {
    using session = await open(() => true);
    const { dependencies, needs, value } = trap();
    session.send(dependencies);
    session.send(route(needs, value));
    session.send(request({ tasks: [{ id: 1, route: 1, sequence: 1n, needs, args: value }] }));
    await until(() => existsSync(trace), "the code was put together");
  });
});
