import { type DnsMessage, type DnsQuestion, type DnsRecord, encodeMessage, messageLength } from "../dns-message.ts";
import type { ServiceRecords } from "./lan-service.ts";

/** Largest packet, small enough not to be split by networks. */
const MAX_PACKET_BYTES = 1400;

/** Responses with the records of these services, in as few packets as possible. */
export function packResponses(services: readonly ServiceRecords[]): Buffer[] {
  const packets: Buffer[] = [];
  let [answers, additionals]: [DnsRecord[], DnsRecord[]] = [[], []];
  let bytes = EMPTY_BYTES;
  const flush = (): void => {
    if (answers.length > 0) packets.push(encodeMessage({ kind: "response", questions: [], answers, additionals }));
    [answers, additionals, bytes] = [[], [], EMPTY_BYTES];
  };
  for (const service of services) {
    const more = messageLength({ kind: "response", questions: [], ...service }) - EMPTY_BYTES;
    if (bytes + more > MAX_PACKET_BYTES) flush();
    answers.push(...service.answers);
    additionals.push(...service.additionals);
    bytes += more;
  }
  flush();
  return packets;
}

/** One packet for a sender that asked from another port, with as many of these services as fit. */
export function packReply({ id = 0, questions }: DnsMessage, services: readonly ServiceRecords[]): Buffer {
  // Such a sender has no cache that a record could flush.
  const plain = (records: readonly DnsRecord[]) => records.map((record) => ({ ...record, flush: false }));
  let message: DnsMessage = { kind: "response", id, questions, answers: [], isTruncated: true };
  let [answers, additionals]: [DnsRecord[], DnsRecord[]] = [[], []];
  for (const [index, service] of services.entries()) {
    answers = [...answers, ...plain(service.answers)];
    additionals = [...additionals, ...plain(service.additionals)];
    const isTruncated = index < services.length - 1;
    const longer: DnsMessage = { ...message, answers, additionals, isTruncated };
    if (messageLength(longer) > MAX_PACKET_BYTES) break;
    message = longer;
  }
  return encodeMessage(message);
}

/** A query with the answers that are already known, in several packets if they do not fit into one. */
export function packQuery(questions: readonly DnsQuestion[], known: readonly DnsRecord[]): Buffer[] {
  const messages: DnsMessage[] = [];
  let answers: DnsRecord[] = [];
  let asked = questions;
  let bytes = messageLength({ kind: "query", questions, answers: [] });
  const add = (isTruncated: boolean): void => {
    messages.push({ kind: "query", questions: asked, answers, isTruncated });
    [answers, asked, bytes] = [[], [], EMPTY_BYTES];
  };
  for (const record of known) {
    const more = messageLength({ kind: "query", questions: [], answers: [record] }) - EMPTY_BYTES;
    if (bytes + more > MAX_PACKET_BYTES) add(true);
    answers.push(record);
    bytes += more;
  }
  add(false);
  return messages.map(encodeMessage);
}

/** Probes for names: questions with the intended records, in as few packets as possible. */
export function packProbes(
  probes: readonly { readonly name: string; readonly records: readonly DnsRecord[] }[],
): Buffer[] {
  const packets: Buffer[] = [];
  let [questions, authorities]: [DnsQuestion[], DnsRecord[]] = [[], []];
  const message = (): DnsMessage => ({ kind: "query", questions, answers: [], authorities });
  for (const { name, records } of probes) {
    const before = message();
    questions = [...questions, { name, type: "ANY" }];
    authorities = [...authorities, ...records];
    if (before.questions.length === 0 || messageLength(message()) <= MAX_PACKET_BYTES) continue;
    packets.push(encodeMessage(before));
    [questions, authorities] = [[{ name, type: "ANY" }], [...records]];
  }
  if (questions.length > 0) packets.push(encodeMessage(message()));
  return packets;
}

const EMPTY_BYTES = messageLength({ kind: "query", questions: [], answers: [] });
