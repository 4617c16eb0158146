import dnsPacket, { type Answer, type DecodedPacket, type Packet, type RecordType } from "dns-packet";

/** A record of a kind that discoveries use. */
export type DnsRecord =
  | {
      readonly type: "PTR" | "A" | "AAAA" | "CNAME";
      readonly name: string;
      readonly ttl: number;
      readonly data: string;
      readonly flush?: boolean;
    }
  | {
      readonly type: "SRV";
      readonly name: string;
      readonly ttl: number;
      readonly data: SrvData;
      readonly flush?: boolean;
    }
  | {
      readonly type: "TXT";
      readonly name: string;
      readonly ttl: number;
      readonly data: readonly Buffer[];
      readonly flush?: boolean;
    };

/** The location of a service. */
export interface SrvData {
  readonly target: string;
  readonly port: number;
  readonly priority?: number;
  readonly weight?: number;
}

/** A question. */
export interface DnsQuestion {
  readonly name: string;
  readonly type: "PTR" | "SRV" | "TXT" | "A" | "AAAA" | "ANY";
}

/** A query or a response. Records of kinds that no discovery needs are left out. */
export interface DnsMessage {
  readonly kind: "query" | "response";
  readonly id?: number;
  /** A response that did not fit into the packet, or a query with more known answers to come. */
  readonly isTruncated?: boolean;
  /** The result code of a server, such as `NOERROR` or `NXDOMAIN`. */
  readonly verdict?: string;
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
  /** Shortest time that a negative answer is valid, in seconds. */
  readonly negativeTtl?: number;
}

const QUESTION_TYPES = ["PTR", "SRV", "TXT", "A", "AAAA", "ANY"] as const;

/** The bytes of a message. */
export function encodeMessage(message: DnsMessage): Buffer {
  return dnsPacket.encode(toPacket(message));
}

/** How many bytes a message takes. */
export function messageLength(message: DnsMessage): number {
  return dnsPacket.encodingLength(toPacket(message));
}

/** Reads a message; `undefined` for bytes that are not one. */
export function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  let packet: DecodedPacket;
  try {
    packet = dnsPacket.decode(bytes);
  } catch {
    return undefined;
  }
  const { id, type, questions = [], answers = [], authorities = [], additionals = [] } = packet;
  const soa = authorities.find((record) => record.type === "SOA");
  return {
    kind: type === "response" ? "response" : "query",
    isTruncated: packet.flag_tc,
    verdict: "rcode" in packet ? String(packet.rcode) : "",
    questions: questions.flatMap(({ name, type: asked }) => {
      const known = QUESTION_TYPES.find((each) => each === (asked as string));
      return known === undefined ? [] : [{ name, type: known }];
    }),
    answers: answers.flatMap(toRecord),
    authorities: authorities.flatMap(toRecord),
    additionals: additionals.flatMap(toRecord),
    ...(id === undefined ? {} : { id }),
    ...(soa?.type === "SOA" ? { negativeTtl: Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0) } : {}),
  };
}

/** Makes names comparable: DNS ignores the case of letters. */
export function nameKey(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

function toPacket({ kind, id = 0, isTruncated, questions, answers, authorities, additionals }: DnsMessage): Packet {
  const flags =
    (kind === "response" ? dnsPacket.AUTHORITATIVE_ANSWER : 0) |
    (isTruncated === true ? dnsPacket.TRUNCATED_RESPONSE : 0);
  return {
    type: kind,
    id,
    flags: kind === "query" && id !== 0 ? flags | dnsPacket.RECURSION_DESIRED : flags,
    // The type declarations leave out ANY, but the package supports it.
    questions: questions.map(({ name, type }) => ({ name, type: type as RecordType })),
    answers: answers.map(toAnswer),
    authorities: (authorities ?? []).map(toAnswer),
    additionals: (additionals ?? []).map(toAnswer),
  };
}

function toAnswer(record: DnsRecord): Answer {
  const { name, ttl, flush = false } = record;
  if (record.type === "SRV") return { type: "SRV", name, ttl, flush, data: { ...record.data } };
  if (record.type === "TXT") return { type: "TXT", name, ttl, flush, data: [...record.data] };
  return { type: record.type, name, ttl, flush, data: record.data };
}

function toRecord(answer: Answer): DnsRecord[] {
  if (!("ttl" in answer)) return [];
  const { name, ttl = 0 } = answer;
  const flush = "flush" in answer && answer.flush === true;
  switch (answer.type) {
    case "PTR":
    case "A":
    case "AAAA":
    case "CNAME":
      return [{ type: answer.type, name, ttl, flush, data: answer.data }];
    case "SRV": {
      const { target, port, priority = 0, weight = 0 } = answer.data;
      return [{ type: "SRV", name, ttl, flush, data: { target, port, priority, weight } }];
    }
    case "TXT": {
      const strings = Array.isArray(answer.data) ? answer.data : [answer.data];
      return [{ type: "TXT", name, ttl, flush, data: strings.map((item) => Buffer.from(item)) }];
    }
    default:
      return [];
  }
}
