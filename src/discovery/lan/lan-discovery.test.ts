import { createSocket, type Socket } from "node:dgram";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidArgument } from "../../errors.ts";
import type { DiscoveryEvent } from "../discovery.ts";
import { type DnsMessage, type DnsRecord, decodeMessage, encodeMessage } from "../dns-message.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { LanDiscovery, type LanDiscoveryOptions } from "./lan-discovery.ts";

const GROUP = "224.0.0.251";
const TYPE = "_wool._tcp.local";

/** A separate host on the loopback interface that sends what a test wants. */
class Stranger implements Disposable {
  readonly heard: DnsMessage[] = [];
  readonly #socket: Socket;
  readonly #port: number;

  private constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#port = port;
    socket.on("message", (bytes) => {
      const message = decodeMessage(bytes);
      if (message !== undefined) this.heard.push(message);
    });
  }

  static async open(port: number): Promise<Stranger> {
    const socket = createSocket({ type: "udp4", reuseAddr: true });
    await new Promise<void>((resolve) => socket.bind({ port, exclusive: true }, resolve));
    socket.addMembership(GROUP, "127.0.0.1");
    socket.setMulticastInterface("127.0.0.1");
    return new Stranger(socket, port);
  }

  send(message: DnsMessage | Buffer): void {
    this.#socket.send(Buffer.isBuffer(message) ? message : encodeMessage(message), this.#port, GROUP);
  }

  tell(answers: readonly DnsRecord[]): void {
    this.send({ kind: "response", questions: [], answers });
  }

  /** The questions for a name so far. */
  questions(name: string): number {
    return this.heard.filter(({ kind, questions }) => kind === "query" && questions.some((q) => q.name === name))
      .length;
  }

  /** The names that were announced, or withdrawn with a goodbye. */
  announced(ttl: (seconds: number) => boolean = (seconds) => seconds > 0): string[] {
    const records = this.heard.flatMap(({ kind, answers }) => (kind === "response" ? answers : []));
    return records.flatMap((record) => (record.type === "PTR" && ttl(record.ttl) ? [record.data] : []));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

let port = 0;
let stranger: Stranger;
const opened: LanDiscovery[] = [];
let warnings: string[];

beforeEach(async () => {
  port = await freePort();
  stranger = await Stranger.open(port);
  warnings = [];
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
});
afterEach(async () => {
  for (const discovery of opened.splice(0)) await discovery.dispose();
  stranger[Symbol.dispose]();
  vi.restoreAllMocks();
});

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, resolve));
  const { port: free } = socket.address();
  socket.close();
  return free;
}

function open(options: LanDiscoveryOptions = {}, namespace = "test"): LanDiscovery {
  const discovery = new LanDiscovery(namespace, { interfaces: ["lo"], port, ...options });
  opened.push(discovery);
  return discovery;
}

/** Follows a discovery, and records its events. */
function follow(discovery: LanDiscovery): string[] {
  const events: string[] = [];
  void (async () => {
    for await (const event of discovery.subscribe()) events.push(describeEvent(event));
  })();
  return events;
}

/** Follows a discovery that is on the network. */
async function browse(discovery: LanDiscovery): Promise<string[]> {
  const events = follow(discovery);
  await eventually(() => expect(stranger.questions(TYPE)).toBeGreaterThan(0));
  return events;
}

const describeEvent = ({ type, worker }: DiscoveryEvent) => `${type.slice("worker-".length)} ${worker.uid}`;
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

function worker(uid: string, address = "127.0.0.1:7001"): WorkerMetadata {
  return { uid, address, pid: 1, version: "1", tags: new Set(["gpu"]), extra: {}, secure: false, channel: {} };
}

/** The records of a worker that some other program announces. */
function records(label: string, ttl: number, ...text: string[]): DnsRecord[] {
  const name = `${label}.${TYPE}`;
  return [
    { type: "PTR", name: TYPE, ttl, data: name },
    { type: "SRV", name, ttl, flush: true, data: { target: "printer.local", port: 99 } },
    { type: "TXT", name, ttl, flush: true, data: text.map((string) => Buffer.from(string)) },
    { type: "A", name: "printer.local", ttl, flush: true, data: "127.0.0.1" },
  ];
}

describe("LanDiscovery", () => {
  it("asks for workers, and believes them for their time only", async () => {
    const events = await browse(open());
    stranger.tell(records("other", 2, "txtvers=1", "ns=test", "uid=w-9"));
    await eventually(() => expect(events).toEqual(["added w-9"]));
    const before = stranger.questions(TYPE);
    await eventually(() => expect(events).toEqual(["added w-9", "dropped w-9"]));
    // It was asked for again before it was given up.
    expect(stranger.questions(TYPE)).toBeGreaterThan(before);
  });

  it("keeps a worker that answers when it is asked again", async () => {
    const events = await browse(open());
    const answer = () => stranger.tell(records("other", 3, "txtvers=1", "ns=test", "uid=w-9"));
    answer();
    await eventually(() => expect(events).toEqual(["added w-9"]));
    for (let round = 0; round < 2; round++) {
      const asked = stranger.questions(TYPE);
      await eventually(() => expect(stranger.questions(TYPE)).toBeGreaterThan(asked));
      answer();
    }
    expect(events).toEqual(["added w-9"]);
  });

  it("asks for what is missing of a worker", async () => {
    const events = await browse(open());
    const [pointer, service, text, address] = records("other", 60, "txtvers=1", "ns=test", "uid=w-9");
    if (pointer === undefined || service === undefined || text === undefined || address === undefined)
      throw new Error();
    stranger.tell([pointer]);
    await eventually(() => expect(stranger.questions(`other.${TYPE}`)).toBeGreaterThan(0));
    stranger.tell([service, text]);
    await eventually(() => expect(stranger.questions("printer.local")).toBeGreaterThan(0));
    expect(events).toEqual([]);
    stranger.tell([address]);
    await eventually(() => expect(events).toEqual(["added w-9"]));
  });

  it("drops a worker that says goodbye, at once", async () => {
    const events = await browse(open());
    stranger.tell(records("other", 4500, "txtvers=1", "ns=test", "uid=w-9"));
    await eventually(() => expect(events).toEqual(["added w-9"]));
    stranger.tell(records("other", 0, "txtvers=1", "ns=test", "uid=w-9"));
    await eventually(() => expect(events).toEqual(["added w-9", "dropped w-9"]));
  });

  it("ignores what makes no sense, and counts it", async () => {
    const discovery = open();
    const events = await browse(discovery);
    stranger.send(Buffer.from("no DNS at all"));
    stranger.send(Buffer.alloc(2000, 0xff));
    stranger.tell(records("old", 60, "txtvers=2", "uid=a"));
    stranger.tell(records("nobody", 60, "txtvers=1", "ns=test"));
    stranger.tell(records("other-namespace", 60, "txtvers=1", "ns=elsewhere", "uid=b"));
    stranger.tell(records("good", 60, "txtvers=1", "ns=test", "uid=w-9"));
    await eventually(() => expect(events).toEqual(["added w-9"]));
    expect(discovery.ignored).toBe(4);
  });

  it("probes for a name before it uses it, and takes another when somebody has that", async () => {
    const publishing = open().publisher.publish("worker-added", worker("w-1"));
    await eventually(() => expect(stranger.questions(`w-1.${TYPE}`)).toBeGreaterThan(0));
    expect(stranger.announced()).toEqual([]);
    stranger.tell(records("w-1", 60, "txtvers=1", "ns=test", "uid=w-1"));
    await publishing;
    await eventually(() => expect(stranger.announced()).toContain(`w-1-2.${TYPE}`));
    expect(stranger.announced().filter((name) => name === `w-1.${TYPE}`)).toHaveLength(1);
    expect(stranger.questions(`w-1-2.${TYPE}`)).toBeGreaterThanOrEqual(3);
  });

  it("keeps a name that it has just announced from one who probes for it", async () => {
    await open().publisher.publish("worker-added", worker("w-1"));
    await open().publisher.publish("worker-added", worker("w-1", "127.0.0.1:7002"));
    await eventually(() => expect(stranger.announced()).toContain(`w-1-2.${TYPE}`));
    const ports = stranger.heard
      .flatMap(({ kind, answers }) => (kind === "response" ? answers : []))
      .flatMap((record) => (record.type === "SRV" && record.name === `w-1.${TYPE}` ? [record.data.port] : []));
    expect(new Set(ports)).toEqual(new Set([7001]));
  });

  it("gives way when its name turns out to be somebody else's", async () => {
    await open().publisher.publish("worker-added", worker("w-1"));
    stranger.heard.length = 0;
    const claim = () => stranger.tell(records("w-1", 60, "txtvers=1", "ns=test", "uid=w-1"));
    claim();
    await eventually(() => expect(stranger.questions(`w-1.${TYPE}`)).toBeGreaterThan(0));
    claim();
    await eventually(() => expect(stranger.announced()).toContain(`w-1-2.${TYPE}`));
  });

  it("answers those who ask, but not for what they know", async () => {
    const discovery = open();
    await discovery.publisher.publish("worker-added", worker("w-1"));
    await discovery.publisher.publish("worker-added", worker("w-2", "127.0.0.1:7002"));
    const ask = (known: DnsRecord[]) =>
      stranger.send({ kind: "query", questions: [{ name: TYPE, type: "PTR" }], answers: known });
    const known = (uid: string, ttl: number): DnsRecord => ({ type: "PTR", name: TYPE, ttl, data: `${uid}.${TYPE}` });
    // Both are announced a second time after a second. Later packets are answers.
    await eventually(() => expect(stranger.announced().filter((name) => name.startsWith("w-2"))).toHaveLength(2));
    stranger.heard.length = 0;
    ask([known("w-1", 55), known("w-2", 5)]);
    await eventually(() => expect(stranger.announced()).toEqual([`w-2.${TYPE}`]));
    ask([]);
    await eventually(() => expect(new Set(stranger.announced())).toEqual(new Set([`w-1.${TYPE}`, `w-2.${TYPE}`])));
  });

  it("answers programs that ask from another port, directly", async () => {
    await open().publisher.publish("worker-added", worker("w-1"));
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    socket.setMulticastInterface("127.0.0.1");
    const answered = new Promise<Buffer>((resolve) => socket.once("message", resolve));
    const query: DnsMessage = { kind: "query", id: 77, questions: [{ name: TYPE, type: "PTR" }], answers: [] };
    socket.send(encodeMessage(query), port, GROUP);
    const message = decodeMessage(await answered);
    socket.close();
    expect(message?.isTruncated).toBe(false);
    expect(message).toMatchObject({ kind: "response", id: 77, questions: [{ name: TYPE, type: "PTR" }] });
    expect(message?.answers.every(({ ttl, flush }) => ttl <= 10 && flush === false)).toBe(true);
  });

  it("says goodbye to what it drops, and to everything when it is disposed of", async () => {
    const discovery = open();
    const goodbyes = () => new Set(stranger.announced((seconds) => seconds === 0));
    await Promise.all(["w-1", "w-2"].map((uid) => discovery.publisher.publish("worker-added", worker(uid))));
    await discovery.publisher.publish("worker-dropped", worker("w-1"));
    await eventually(() => expect(goodbyes()).toEqual(new Set([`w-1.${TYPE}`])));
    await discovery.dispose();
    await eventually(() => expect(goodbyes()).toEqual(new Set([`w-1.${TYPE}`, `w-2.${TYPE}`])));
    await expect(discovery.publisher.publish("worker-added", worker("w-3"))).rejects.toThrow("was disposed of");
    expect(() => discovery.subscribe()).toThrow("was disposed of");
  });

  it("warns of a worker that no other machine can reach, once", async () => {
    const discovery = open();
    const events = follow(discovery);
    await discovery.publisher.publish("worker-added", worker("w-1"));
    await discovery.publisher.publish("worker-updated", { ...worker("w-1"), version: "2" });
    await discovery.publisher.publish("worker-added", worker("w-2", "unix:/run/w-2"));
    expect(warnings).toEqual([
      expect.stringContaining("worker w-1 listens on 127.0.0.1, where no other machine can reach it"),
      expect.stringContaining("worker w-2 is not announced on the network: it listens on a unix socket"),
    ]);
    // The program that published it can use it.
    await eventually(() => expect(events).toEqual(["added w-1", "updated w-1", "added w-2"]));
    await eventually(() => expect(stranger.announced()).toContain(`w-1.${TYPE}`));
    expect(stranger.announced()).not.toContain(`w-2.${TYPE}`);
  });

  it("says so where there is no network at all", async () => {
    const discovery = open({ interfaces: ["none"] });
    const events = follow(discovery);
    await discovery.publisher.publish("worker-added", worker("w-1", "0.0.0.0:1"));
    await eventually(() => expect(events).toEqual(["added w-1"]));
    const problem = expect.stringMatching(/^there is no network interface none that is up; there are: .*\blo\b/);
    expect(discovery.problem).toEqual(problem);
    expect(warnings).toEqual([`cannot look for workers on the network or announce them there: ${discovery.problem}`]);
  });

  it("refuses what makes no sense", async () => {
    expect(() => new LanDiscovery("")).toThrow(InvalidArgument);
    expect(() => new LanDiscovery("x", { ttl: -5 })).toThrow('option "ttl" must be');
    const misspelt: object = { interface: "eth0" };
    expect(() => new LanDiscovery("x", misspelt)).toThrow('did you mean "interfaces"?');
    const large = { ...worker("w-1"), extra: { note: "x".repeat(5000) } };
    await expect(open().publisher.publish("worker-added", large)).rejects.toThrow("a record holds 900");
  });
});
