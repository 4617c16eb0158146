import { randomBytes } from "node:crypto";
import { get } from "node:http";
import type { Socket } from "node:net";

/** A message of the debugger's protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** A client of the inspector of Node.js: as much of a web socket as the debugger's protocol needs. */
export class DebuggerClient implements Disposable {
  readonly #socket: Socket;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #listeners = new Set<(message: Message) => void>();
  #unread: Buffer;
  #count = 0;

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#unread = head;
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, bytes]);
      this.#read();
    });
  }

  /** Connects to an address such as `ws://127.0.0.1:9229/...`. */
  static async connect(url: string): Promise<DebuggerClient> {
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
    };
    return new Promise((resolve, reject) => {
      get(url.replace(/^ws:/, "http:"), { headers })
        .on("upgrade", (_response, socket: Socket, head) => resolve(new DebuggerClient(socket, head)))
        .on("error", reject);
    });
  }

  /** Sends a command and resolves with its result. */
  send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#count;
    this.#write(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      });
    });
  }

  /** Calls a function for each event of that name. */
  on(method: string, listener: (params: Readonly<Record<string, unknown>>) => void): void {
    this.#listeners.add((message) => {
      if (message.method === method) listener(message.params ?? {});
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #write(text: string): void {
    const payload = Buffer.from(text);
    const header = Buffer.alloc(8);
    // A complete text message, with a mask, which may be zeros.
    header.writeUInt8(0x81, 0);
    header.writeUInt8(0x80 | 126, 1);
    header.writeUInt16BE(payload.length, 2);
    this.#socket.write(Buffer.concat([header, payload]));
  }

  #read(): void {
    for (;;) {
      const [size, start] = this.#nextFrame();
      if (this.#unread.length < start + size) return;
      const text = this.#unread.toString("utf8", start, start + size);
      this.#unread = this.#unread.subarray(start + size);
      const message = JSON.parse(text) as Message;
      if (message.id === undefined) for (const listener of this.#listeners) listener(message);
      else this.#answers.get(message.id)?.(message);
    }
  }

  /** The size of the next message, and where it starts. The size is more than there is while the header is incomplete. */
  #nextFrame(): [size: number, start: number] {
    const bytes = this.#unread;
    if (bytes.length < 10)
      return bytes.length < 2 || (bytes.readUInt8(1) & 0x7f) > 125
        ? [0, Number.POSITIVE_INFINITY]
        : [bytes.readUInt8(1), 2];
    const length = bytes.readUInt8(1) & 0x7f;
    if (length < 126) return [length, 2];
    return length === 126 ? [bytes.readUInt16BE(2), 4] : [Number(bytes.readBigUInt64BE(2)), 10];
  }
}
