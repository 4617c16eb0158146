import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { DiscoveryError } from "../../errors.ts";
import { decodeMessage, encodeMessage } from "../dns-message.ts";
import { askNameServer } from "./dns-query.ts";

/** A name server that answers each question with these packets. */
async function startServer(answer: (query: Buffer) => Buffer[]): Promise<{ port: number } & Disposable> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    for (const packet of answer(query)) socket.send(packet, port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, [Symbol.dispose]: () => socket.close() };
}

const question = { name: "workers.test", type: "A" } as const;

/** An answer to a query, with some differences if given. */
function answerTo(query: Buffer, changes: { readonly id?: number; readonly name?: string } = {}): Buffer {
  const { id = 0 } = decodeMessage(query) ?? {};
  const name = changes.name ?? question.name;
  return encodeMessage({
    kind: "response",
    id: changes.id ?? id,
    questions: [{ ...question, name }],
    answers: [{ type: "A", name, ttl: 5, flush: false, data: "10.0.0.1" }],
  });
}

describe("askNameServer", () => {
  it("ignores packets that make no sense or answer something else, and takes the answer", async () => {
    using server = await startServer((query) => [
      Buffer.from("no packet at all"),
      query,
      answerTo(query, { id: (decodeMessage(query)?.id ?? 0) ^ 1 }),
      answerTo(query, { name: "others.test" }),
      answerTo(query),
    ]);
    const message = await askNameServer({ host: "127.0.0.1", port: server.port }, question, 20_000);
    expect(message.answers).toEqual([{ type: "A", name: question.name, ttl: 5, flush: false, data: "10.0.0.1" }]);
  });

  it.each([2 ** 31, 1e300, Number.POSITIVE_INFINITY])(
    "waits %d ms for an answer, unless it is aborted",
    async (timeout) => {
      using server = await startServer((query) => [answerTo(query)]);
      const { answers } = await askNameServer({ host: "127.0.0.1", port: server.port }, question, timeout);
      expect(answers).toHaveLength(1);
      let isAsked: () => void = () => undefined;
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      using silent = await startServer(() => {
        isAsked();
        return [];
      });
      const abort = new AbortController();
      const waiting = askNameServer({ host: "127.0.0.1", port: silent.port }, question, timeout, abort.signal);
      await asked;
      abort.abort();
      await expect(waiting).rejects.toThrow("the lookup was aborted");
    },
  );

  it.each([0, 0.4])("gives up at once with a timeout of %d ms", async (timeout) => {
    using silent = await startServer(() => []);
    const asked = askNameServer({ host: "127.0.0.1", port: silent.port }, question, timeout);
    await expect(asked).rejects.toThrow("does not answer");
  });

  it("gives up on a server that talks nonsense only, and names it", async () => {
    using server = await startServer(() => [Buffer.from("nonsense"), Buffer.alloc(12, 0xff)]);
    const asked = askNameServer({ host: "127.0.0.1", port: server.port }, question, 100);
    await expect(asked).rejects.toThrow(DiscoveryError);
    await expect(asked).rejects.toThrow(`the name server 127.0.0.1:${server.port} does not answer`);
  });
});
