import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import { DiscoveryError } from "../../errors.ts";
import { Timer } from "../../time/index.ts";
import { type DnsMessage, type DnsQuestion, decodeMessage, encodeMessage, nameKey } from "../dns-message.ts";
import { joinAddress } from "../network-addresses.ts";

/** A name server. */
export interface NameServer {
  readonly host: string;
  readonly port: number;
}

/** How often a server is asked before it counts as silent. */
const ATTEMPTS = 2;
/** Longest time before a question is sent again, in milliseconds: packets are lost. */
const REPEAT_MS = 5000;

/**
 * Asks a name server by UDP, and by TCP if the answer does not fit. Throws `DiscoveryError` when it does not answer
 * within `timeout` milliseconds, or `signal` is aborted before.
 */
export async function askNameServer(
  server: NameServer,
  question: DnsQuestion,
  timeout: number,
  signal?: AbortSignal,
): Promise<DnsMessage> {
  const id = randomInt(1, 65_536);
  const query = encodeMessage({ kind: "query", id, questions: [question], answers: [] });
  const isAnswer = (bytes: Buffer): DnsMessage | undefined => {
    const message = decodeMessage(bytes);
    const [asked] = message?.questions ?? [];
    const fits = message?.kind === "response" && message.id === id && asked !== undefined;
    return fits && nameKey(asked.name) === nameKey(question.name) && asked.type === question.type ? message : undefined;
  };
  let failure: unknown;
  for (let attempt = 0; attempt < ATTEMPTS && signal?.aborted !== true; attempt++) {
    try {
      const answer = await askByUdp(server, query, isAnswer, timeout / ATTEMPTS, signal);
      return answer.isTruncated === true ? await askByTcp(server, query, isAnswer, timeout, signal) : answer;
    } catch (error) {
      failure = error;
    }
  }
  const where = joinAddress(server.host, server.port);
  throw new DiscoveryError(`the name server ${where} does not answer: ${String(failure)}`, { cause: failure });
}

type Reader = (bytes: Buffer) => DnsMessage | undefined;

function askByUdp(
  { host, port }: NameServer,
  query: Buffer,
  read: Reader,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<DnsMessage> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
    const timer = new Timer(timeout, () => end(() => reject(new Error(`no answer within ${timeout} ms`))));
    const repeat = setInterval(() => socket.send(query), REPEAT_MS);
    const aborted = (): void => end(() => reject(new Error("the lookup was aborted")));
    signal?.addEventListener("abort", aborted);
    const end = (settle: () => void): void => {
      timer.clear();
      clearInterval(repeat);
      signal?.removeEventListener("abort", aborted);
      socket.removeAllListeners();
      socket.on("error", () => undefined);
      socket.close();
      settle();
    };
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("message", (bytes) => {
      const message = read(bytes);
      if (message !== undefined) end(() => resolve(message));
    });
    // Connected, so that it learns of a port that nobody listens on, and receives from this server only.
    socket.connect(port, host, () => socket.send(query));
  });
}

function askByTcp(
  { host, port }: NameServer,
  query: Buffer,
  read: Reader,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<DnsMessage> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    const timer = new Timer(timeout, () => end(() => reject(new Error(`no answer within ${timeout} ms`))));
    const aborted = (): void => end(() => reject(new Error("the lookup was aborted")));
    signal?.addEventListener("abort", aborted);
    const end = (settle: () => void): void => {
      timer.clear();
      signal?.removeEventListener("abort", aborted);
      socket.destroy();
      settle();
    };
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.on("connect", () => socket.write(Buffer.concat([length, query])));
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("close", () => end(() => reject(new Error("the connection was closed"))));
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = read(received.subarray(2, 2 + received.readUInt16BE(0)));
      end(() =>
        message === undefined ? reject(new Error("the answer is not a valid DNS message")) : resolve(message),
      );
    });
  });
}
