import { beforeEach, expect, it, vi } from "vitest";
import { RedisSession } from "./redis-session.ts";

/** A server whose answers a test releases one by one. */
class FakeRedis {
  readonly keys = new Map<string, string>();
  readonly index = new Set<string>();
  /** Answers that are held back, by the name of their command. */
  readonly held: { readonly name: string; readonly release: () => void }[] = [];
  isHolding = false;
  listener: (uid: string) => void = () => undefined;

  async sendCommand([name = "", ...args]: string[]): Promise<unknown> {
    const answer = this.#answer(name, args);
    if (this.isHolding) await new Promise<void>((release) => this.held.push({ name, release }));
    return answer;
  }

  #answer(name: string, args: readonly string[]): unknown {
    if (name === "SMEMBERS") return [...this.index];
    if (name === "MGET") return args.map((key) => this.keys.get(key) ?? null);
    return name === "INFO" ? "run_id:abc" : "";
  }

  put(uid: string, text: string): void {
    this.index.add(uid);
    this.keys.set(`{p}:worker:${uid}`, text);
    this.listener(uid);
  }

  /** A client that is connected to it. */
  client(): object {
    return {
      connect: async () => undefined,
      sendCommand: (command: string[]) => this.sendCommand(command),
      subscribe: async (_channel: string, listener: (uid: string) => void) => {
        this.listener = listener;
      },
      duplicate: () => this.client(),
      destroy: () => undefined,
      unref: () => undefined,
      on: () => undefined,
    };
  }
}

let server: FakeRedis;
vi.mock("@redis/client", () => ({ createClient: () => server.client() }));

beforeEach(() => {
  server = new FakeRedis();
});

it("a worker that comes while everything is read is not lost", async () => {
  const known = new Map<string, string>();
  const dropped: string[] = [];
  const drop = (uid: string) => {
    if (known.delete(uid)) dropped.push(uid);
  };
  const session = await RedisSession.open(
    {
      host: "here",
      port: 1,
      prefix: "p",
      database: undefined,
      ttl: 60_000,
      connectTimeout: 1000,
      username: undefined,
      password: undefined,
      tls: undefined,
    },
    {
      entries: (all) => {
        for (const uid of Array.from(known.keys())) if (!all.has(uid)) drop(uid);
        for (const [uid, text] of all) known.set(uid, text);
      },
      changed: (uid, text) => (text === undefined ? drop(uid) : void known.set(uid, text)),
      lost: (error) => {
        throw error;
      },
    },
  );
  server.put("a", "1");
  server.isHolding = true;
  const following = session.follow();
  await vi.waitFor(() => expect(server.held).toHaveLength(1));
  // The server has reported everything; now there is more.
  server.put("b", "2");
  let isRead = false;
  const read = following.then(() => {
    isRead = true;
  });
  while (!isRead) {
    await new Promise((resolve) => setImmediate(resolve));
    server.held.shift()?.release();
  }
  await read;
  expect([...known]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
  expect(dropped).toEqual([]);
  await session.close();
});
