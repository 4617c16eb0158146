import { connect, createServer } from "node:net";

/** Bytes that may wait in one direction of a connection before reading pauses. */
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * Forwards connections to a worker, at an address that stays the same when the worker changes. It can cut them, hold
 * them up, or delay them.
 */
export class Forwarder {
  /** `{ host, port }` that connections go to; none are accepted while it is undefined. */
  target;
  /** The delay of everything that is forwarded, in milliseconds. */
  delayMs = 0;
  #server;
  #directions = new Set();
  #stalledUntil = 0;

  /** Resolves with the address that it listens on. */
  async listen() {
    this.#server = createServer((caller) => this.#accept(caller));
    await new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return `127.0.0.1:${this.#server.address().port}`;
  }

  /** Cuts every connection, even in the middle of a message. */
  sever() {
    for (const direction of this.#directions) direction.cut();
  }

  /** Forwards nothing for a while. */
  stall(ms) {
    this.#stalledUntil = performance.now() + ms;
  }

  /** When data that arrives now is forwarded. */
  due(now) {
    return Math.max(now + this.delayMs, this.#stalledUntil);
  }

  async close() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.sever();
    await closed;
  }

  #accept(caller) {
    if (this.target === undefined) {
      caller.destroy();
      return;
    }
    const worker = connect(this.target);
    for (const [from, to] of [
      [caller, worker],
      [worker, caller],
    ]) {
      const direction = new Direction(this, from, to);
      this.#directions.add(direction);
      from.on("close", () => this.#directions.delete(direction));
    }
  }
}

/** One direction of a connection: data waits until it is due, and keeps its order. */
class Direction {
  #forwarder;
  #from;
  #to;
  #queue = [];
  #waiting = 0;
  #timer;
  #isCut = false;

  constructor(forwarder, from, to) {
    this.#forwarder = forwarder;
    this.#from = from;
    this.#to = to;
    from.setNoDelay(true);
    from.on("data", (data) => this.#push(data));
    from.on("error", () => undefined);
    // Half a connection is useless for both ends. Data that was sent before still arrives.
    from.on("close", () => this.#push(undefined));
    to.on("close", () => clearTimeout(this.#timer));
    to.on("drain", () => this.#regulate());
  }

  cut() {
    clearTimeout(this.#timer);
    this.#queue = [];
    this.#isCut = true;
    // A reset waits for the connection and for pending writes. And if Node.js resets a socket while it is being shut
    // down, it never closes the socket and does not exit. So nothing else may happen to a socket that is being reset.
    if (this.#from.connecting || this.#from.writableEnded || this.#from.writableLength > 0) this.#from.destroy();
    else this.#from.pause().resetAndDestroy();
  }

  #push(data) {
    const now = performance.now();
    this.#queue.push({ due: Math.max(this.#forwarder.due(now), this.#queue.at(-1)?.due ?? 0), data });
    this.#waiting += data?.length ?? 0;
    this.#pump();
  }

  #pump() {
    clearTimeout(this.#timer);
    const now = performance.now();
    while (this.#queue.length > 0 && this.#queue[0].due <= now) {
      const { data } = this.#queue.shift();
      this.#waiting -= data?.length ?? 0;
      if (this.#to.destroyed) continue;
      if (data === undefined) this.#to.destroySoon();
      else this.#to.write(data);
    }
    const [next] = this.#queue;
    if (next !== undefined && !this.#to.destroyed) this.#timer = setTimeout(() => this.#pump(), next.due - now + 1);
    this.#regulate();
  }

  #regulate() {
    if (this.#isCut) return;
    if (this.#waiting > MOST_WAITING_BYTES || this.#to.writableNeedDrain) this.#from.pause();
    else this.#from.resume();
  }
}
