import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../../errors.ts";
import { decodeMessage, encodeMessage, messageLength } from "../dns-message.ts";
import type { MachineInterface } from "../network-addresses.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { packProbes, packQuery, packReply, packResponses } from "./lan-packets.ts";
import { decodeText, encodeText, type LanService, labelFor, recordsFor } from "./lan-service.ts";

const shortText = fc.string({ unit: "grapheme", maxLength: 10 });
const anyWorker: fc.Arbitrary<WorkerMetadata> = fc.record({
  uid: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
  address: fc.constant("10.0.0.1:80"),
  pid: fc.nat(),
  version: shortText,
  tags: fc.array(shortText, { maxLength: 5 }).map((tags) => new Set(tags)),
  extra: fc.dictionary(shortText, shortText, { maxKeys: 3, noNullPrototype: true }),
  secure: fc.boolean(),
  channel: fc.constantFrom({}, { threads: 2, keepaliveInterval: 5000 }),
});

function service(address: string, uid = "w-1"): LanService {
  const worker: WorkerMetadata = {
    uid,
    address,
    pid: 1,
    version: "1",
    tags: new Set(["a"]),
    extra: {},
    secure: false,
    channel: {},
  };
  return { namespace: "n", worker, label: labelFor(uid, 1), host: `host-of-${uid}` };
}

function interfaceWith(...addresses: string[]): MachineInterface {
  const isLoopback = addresses.includes("127.0.0.1");
  return {
    name: isLoopback ? "lo" : "eth0",
    isLoopback,
    addresses: addresses.map((address) => {
      const common = { address, mac: "", internal: isLoopback, netmask: "" };
      return address.includes(":")
        ? { ...common, family: "IPv6", cidr: `${address}/64`, scopeid: 2 }
        : { ...common, family: "IPv4", cidr: `${address}/24` };
    }),
  };
}

const eth0 = interfaceWith("10.0.0.5", "fe80::5");
const lo = interfaceWith("127.0.0.1", "::1");

describe("the text record of a worker", () => {
  it("says all of it, whatever that holds", () => {
    fc.assert(
      fc.property(anyWorker, shortText, (worker, namespace) => {
        const strings = encodeText({ namespace, worker });
        for (const { length } of strings) expect(length).toBeLessThanOrEqual(255);
        const read = decodeText(strings, worker.address);
        expect(read).toEqual({ worker, namespace });
      }),
    );
  });

  it("cuts long values into pieces", () => {
    const tags = new Set(Array.from({ length: 50 }, (_, index) => `tag-${index}`));
    const { worker } = service("10.0.0.1:80");
    const strings = encodeText({ namespace: "n", worker: { ...worker, tags } });
    expect(strings.filter((string) => string.toString().startsWith("tags")).length).toBeGreaterThan(1);
    expect(decodeText(strings, worker.address).worker?.tags).toEqual(tags);
  });

  it("refuses what does not fit, and says how much there is", () => {
    const { worker } = service("10.0.0.1:80");
    const extra = { note: "x".repeat(2000) };
    expect(() => encodeText({ namespace: "n", worker: { ...worker, extra } })).toThrow(InvalidArgument);
    expect(() => encodeText({ namespace: "n", worker: { ...worker, extra } })).toThrow(/w-1 .* take 2\d+ bytes/);
  });

  it("that is malformed is no worker, and never an exception", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), (strings) => {
        expect(decodeText(strings.map(Buffer.from), "host:1").worker).toBeUndefined();
      }),
    );
    const texts = ["uid=a", "txtvers=2|uid=a", "txtvers=1", "txtvers=1|uid=a|tags={", "txtvers=1|uid=a|pid=x"];
    for (const text of texts) {
      const { worker, reason } = decodeText(text.split("|").map(Buffer.from), "host:1");
      expect([worker, typeof reason]).toEqual([undefined, "string"]);
    }
  });
});

describe("the records of a worker", () => {
  const addressesOf = (address: string, where: MachineInterface) =>
    recordsFor(service(address), where, 60)?.additionals.map(({ data }) => data);

  it("name the addresses of each interface when it listens on all of them", () => {
    expect(addressesOf("0.0.0.0:80", eth0)).toEqual(["10.0.0.5"]);
    expect(addressesOf("[::]:80", eth0)).toEqual(["10.0.0.5", "fe80::5"]);
    expect(addressesOf("0.0.0.0:80", lo)).toEqual(["127.0.0.1"]);
  });

  it("name its own address when it listens on one, and a loopback one on no network", () => {
    expect(addressesOf("10.0.0.5:80", eth0)).toEqual(["10.0.0.5"]);
    expect(addressesOf("127.0.0.1:80", eth0)).toBeUndefined();
    expect(addressesOf("localhost:80", lo)).toEqual(["127.0.0.1"]);
    expect(addressesOf("unix:/run/w", lo)).toBeUndefined();
  });

  it("leave a host that has a name to that name", () => {
    const records = recordsFor(service("build-1.example:80"), eth0, 60);
    expect(records?.additionals).toEqual([]);
    expect(records?.answers.find(({ type }) => type === "SRV")?.data).toMatchObject({ target: "build-1.example" });
  });

  it("travel as they are", () => {
    const { answers = [], additionals = [] } = recordsFor(service("0.0.0.0:80"), eth0, 60) ?? {};
    const read = decodeMessage(encodeMessage({ kind: "response", questions: [], answers, additionals }));
    expect(read?.additionals).toEqual(additionals);
    expect(read?.answers).toEqual(answers.map((record) => ({ flush: false, ...record })));
  });

  it("have labels that any name server takes", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 1, max: 99 }), (uid, attempt) => {
        expect(labelFor(uid, attempt)).toMatch(/^[a-z0-9-]{1,63}$/i);
      }),
    );
    expect([labelFor("w-1", 1), labelFor("w-1", 2)]).toEqual(["w-1", "w-1-2"]);
  });
});

describe("packets", () => {
  const services = Array.from({ length: 100 }, (_, index) => service("0.0.0.0:80", `w-${index}`));
  const records = services.map((each) => recordsFor(each, eth0, 60)).filter((each) => each !== undefined);
  const names = (packets: readonly Buffer[]) =>
    packets.flatMap((packet) => decodeMessage(packet)?.answers.filter(({ type }) => type === "PTR") ?? []);

  it("hold as many services as fit, and none is lost", () => {
    const packets = packResponses(records);
    for (const { length } of packets) expect(length).toBeLessThanOrEqual(1400);
    expect(packets.length).toBeLessThan(records.length / 2);
    expect(names(packets)).toHaveLength(100);
  });

  it("answer whoever asks by itself with as much as one holds, and say if that is not all", () => {
    const query = {
      kind: "query" as const,
      id: 7,
      questions: [{ name: "_wool._tcp.local", type: "PTR" as const }],
      answers: [],
    };
    const [part, all] = [packReply(query, records), packReply(query, records.slice(0, 2))];
    expect(part.length).toBeLessThanOrEqual(1400);
    expect(names([part]).length).toBeGreaterThan(1);
    expect([part, all].map((packet) => decodeMessage(packet)?.isTruncated)).toEqual([true, false]);
    expect(decodeMessage(all)).toMatchObject({ id: 7, questions: query.questions });
    expect(names([all])).toHaveLength(2);
    expect(decodeMessage(all)?.answers.some(({ flush }) => flush)).toBe(false);
  });

  it("carry known answers in as many packets as they need, all but the last marked", () => {
    const known = records.flatMap(({ answers }) => answers.filter(({ type }) => type === "PTR"));
    const packets = packQuery([{ name: "_wool._tcp.local", type: "PTR" }], known);
    const messages = packets.map(decodeMessage);
    expect(packets.length).toBeGreaterThan(1);
    for (const { length } of packets) expect(length).toBeLessThanOrEqual(1400);
    expect(messages.map((message) => message?.isTruncated)).toEqual(packets.map((_, i) => i < packets.length - 1));
    expect(messages.map((message) => message?.questions.length)).toEqual(packets.map((_, i) => (i === 0 ? 1 : 0)));
    expect(names(packets)).toHaveLength(100);
  });

  it("probe for many names at once", () => {
    const probes = records.map(({ answers }, i) => ({
      name: `w-${i}._wool._tcp.local`,
      records: answers.filter(({ type }) => type === "SRV"),
    }));
    const messages = packProbes(probes).map(decodeMessage);
    expect(messages.flatMap((message) => message?.questions ?? [])).toHaveLength(100);
    expect(messages.flatMap((message) => message?.authorities ?? [])).toHaveLength(100);
  });

  it("are measured as they are encoded", () => {
    for (const each of records.slice(0, 5)) {
      const message = { kind: "response" as const, questions: [], ...each };
      expect(messageLength(message)).toBe(encodeMessage(message).length);
    }
  });
});
