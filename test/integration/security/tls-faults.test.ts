import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  events,
  HandshakeError,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  WorkerConnection,
  type WorkerCredentials,
  WorkerCredentialsProvider,
  WorkerProxy,
} from "wool-ts";
import { EXPIRED, NOT_YET_VALID, TestAuthority } from "../../support/certificates.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";

expectNothingLeft();

const ours = new TestAuthority();
const theirs = new TestAuthority();
const leaveMark = routine(async (file: string) => {
  const { writeFile } = await import("node:fs/promises");
  await writeFile(file, "it ran");
  return "ran";
});

let warnings: string[];
let evicted: string[];
let folder: string;
const listener = (warning: Error): void => {
  if (warning.name === "WoolWarning") warnings.push(warning.message);
};
let eviction: Disposable;

beforeEach(async () => {
  [warnings, evicted] = [[], []];
  folder = await mkdtemp(join(tmpdir(), "wool-tls-"));
  process.on("warning", listener);
  eviction = events.on("worker-evicted", ({ worker }) => evicted.push(worker.uid));
});
afterEach(async () => {
  process.off("warning", listener);
  eviction[Symbol.dispose]();
  await rm(folder, { recursive: true });
});

interface Fault {
  readonly worker: WorkerCredentials | undefined;
  readonly caller: WorkerCredentials | WorkerCredentialsProvider | undefined;
  readonly says: string;
}

const identity = (name: string) => new WorkerCredentialsProvider(() => ours.client(), { identity: name });
const faults: [string, Fault][] = [
  [
    "an expired worker",
    { worker: ours.worker(EXPIRED), caller: ours.client(), says: "worker's certificate has expired" },
  ],
  [
    "a worker that is not valid yet",
    { worker: ours.worker(NOT_YET_VALID), caller: ours.client(), says: "not valid yet" },
  ],
  ["a worker of another authority", { worker: theirs.worker(), caller: ours.client(), says: "from another authority" }],
  [
    "a worker with another name",
    { worker: ours.worker({ names: ["w.example"] }), caller: ours.client(), says: "for another name" },
  ],
  [
    "a worker with another identity",
    { worker: ours.worker(), caller: identity("spiffe://example.org/other"), says: "for another name" },
  ],
  [
    "an expired caller",
    { worker: ours.worker(), caller: ours.client(EXPIRED), says: "client's certificate has expired" },
  ],
  [
    "a caller that is not valid yet",
    { worker: ours.worker(), caller: ours.client(NOT_YET_VALID), says: "not valid yet" },
  ],
  [
    "a caller of another authority",
    {
      worker: ours.worker(),
      // It trusts the worker, but is not trusted.
      caller: theirs.clientTrusting(ours),
      says: "the client's certificate is from another authority",
    },
  ],
  ["a caller without a certificate", { worker: ours.worker(), caller: ours.bare(), says: "showed no certificate" }],
  ["a caller without TLS", { worker: ours.worker(), caller: undefined, says: "this worker speaks TLS only" }],
  ["a worker without TLS", { worker: undefined, caller: ours.client(), says: "the worker does not speak TLS" }],
  [
    "a provider that fails",
    {
      worker: ours.worker(),
      caller: new WorkerCredentialsProvider(() => {
        throw new Error("the vault is sealed");
      }),
      says: "the vault is sealed",
    },
  ],
];

describe.each(faults)("%s", (_name, { worker: credentials, caller, says }) => {
  test("is a HandshakeError; nothing runs, nobody is evicted, and it is warned of once", async () => {
    await using worker = new LocalWorker({
      host: "127.0.0.1",
      ...(credentials === undefined ? {} : { credentials }),
    });
    await worker.start();
    warnings.length = 0;
    // The discovery says what the caller wants to hear: TLS decides.
    const metadata = { ...worker.metadata, secure: caller !== undefined } as NonNullable<typeof worker.metadata>;
    await using proxy = new WorkerProxy({
      discovery: new StaticDiscovery([metadata]),
      ...(caller === undefined ? {} : { credentials: caller }),
    });
    const mark = join(folder, "mark");
    for (let i = 0; i < 3; i++) {
      const reason = await reasonOf(proxy.dispatch(leaveMark, mark));
      expect(reason).toBeInstanceOf(NoWorkersAvailable);
      const [error] = (reason as NoWorkersAvailable).errors;
      expect(error).toBeInstanceOf(HandshakeError);
      expect(error?.message).toContain(says);
    }
    expect([existsSync(mark), evicted, [...proxy.workers.keys()]]).toEqual([false, [], [worker.uid]]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.filter((warning) => warning.includes(says))).toHaveLength(1);
    await using connection = new WorkerConnection(metadata, caller === undefined ? {} : { credentials: caller });
    expect(await reasonOf(connection.idleTime())).toBeInstanceOf(HandshakeError);
    expect(await reasonOf(connection.stop())).toBeInstanceOf(HandshakeError);
  });
});

test("a worker whose certificate is wrong is passed by while others can be used, and used when it has a right one", async () => {
  let own = ours.worker(EXPIRED);
  const provider = new WorkerCredentialsProvider(() => own);
  await using bad = new LocalWorker({ host: "127.0.0.1", credentials: provider });
  await using good = new LocalWorker({ host: "127.0.0.1", credentials: ours.worker() });
  await Promise.all([bad.start(), good.start()]);
  await using proxy = new WorkerProxy({
    workers: [bad.metadata, good.metadata].filter((metadata) => metadata !== undefined),
    credentials: ours.client(),
  });
  const who = routine(async () => process.pid);
  for (let i = 0; i < 5; i++) expect(await proxy.dispatch(who)).toBe(good.metadata?.pid);
  own = ours.worker();
  await provider.refresh();
  const seen = new Set<number>();
  while (!seen.has(bad.metadata?.pid ?? 0)) {
    for (const pid of await Promise.all(Array.from({ length: 8 }, () => proxy.dispatch(who)))) seen.add(pid);
  }
});
