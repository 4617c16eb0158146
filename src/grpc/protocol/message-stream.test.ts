import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { frameMessage, GrpcChannel, GrpcServer, type GrpcStatus, type ServerStream, StatusCode } from "../index.ts";

const PATH = "/test.Stream/Talk";
let server: GrpcServer;
let channel: GrpcChannel;
let accept: (stream: ServerStream) => void;

beforeEach(async () => {
  server = new GrpcServer();
  server.addStream(PATH, (stream) => accept(stream));
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  channel = new GrpcChannel(`127.0.0.1:${port}`);
  await channel.connect();
});
afterEach(async () => {
  await channel.close();
  await server.close();
});

/** Sends one message and waits for the status. */
function talk(): Promise<GrpcStatus> {
  return new Promise((resolve) => {
    const stream = channel.openStream(PATH, { message: () => {}, status: resolve });
    stream.send(frameMessage(Buffer.from("go")));
  });
}

describe("flow control", () => {
  it("tells the sender to stop when the receiver has paused, and to go on when it has resumed", async () => {
    let peer: ServerStream | undefined;
    let received = 0;
    accept = (stream) => {
      peer = stream;
      stream.handle({
        message: (_buffer, start, end) => {
          received += end - start;
        },
      });
      stream.pause();
    };
    const drain = vi.fn();
    const stream = channel.openStream(PATH, { message: () => {}, drain, status: () => {} });
    expect(stream.writable).toBe(true);
    let sent = 0;
    // Beyond the window and the queue nothing more is accepted, however often the event loop turns.
    await vi.waitFor(() => {
      while (stream.writable) {
        stream.send(frameMessage(Buffer.alloc(10_000)));
        sent += 10_000;
      }
      expect(peer).toBeDefined();
    });
    expect(sent).toBeLessThan(1_000_000);
    expect(stream.writable).toBe(false);
    const drainsBefore = drain.mock.calls.length;
    peer?.resume();
    await vi.waitFor(() => expect(received).toBe(sent));
    await vi.waitFor(() => expect(drain.mock.calls.length).toBeGreaterThan(drainsBefore));
    expect(stream.writable).toBe(true);
  });
});

describe("the order of events", () => {
  it("delivers every message before the status, also to a reader that had paused", async () => {
    accept = (stream) =>
      stream.handle({
        message: () => {
          for (let n = 0; n < 50; n++) stream.send(frameMessage(Buffer.alloc(1000, n)));
          stream.end({ code: StatusCode.ABORTED, message: "done" });
        },
      });
    const seen: number[] = [];
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(PATH, {
        message(buffer, start) {
          if (seen.push(buffer[start] ?? -1) === 1) {
            stream.pause();
            setImmediate(() => setImmediate(() => stream.resume()));
          }
        },
        status: resolve,
      });
      stream.send(frameMessage(Buffer.from("go")));
    });
    expect(status).toEqual({ code: StatusCode.ABORTED, message: "done" });
    expect(seen).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it("lets the server finish its work after the client half-closed", async () => {
    const events: string[] = [];
    accept = (stream) =>
      stream.handle({
        message: () => void events.push("message"),
        halfClosed() {
          events.push("halfClosed");
          setImmediate(() => {
            stream.send(frameMessage(Buffer.from("late")));
            stream.end();
          });
        },
        cancelled: () => void events.push("cancelled"),
      });
    const answers: string[] = [];
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(PATH, {
        message: (buffer, start, end) => void answers.push(buffer.toString("utf8", start, end)),
        status: resolve,
      });
      stream.send(frameMessage(Buffer.from("go")));
      stream.halfClose();
      expect(() => stream.send(frameMessage(Buffer.alloc(1)))).toThrow("has ended");
    });
    expect(status.code).toBe(StatusCode.OK);
    expect(answers).toEqual(["late"]);
    expect(events).toEqual(["message", "halfClosed"]);
  });

  it("tells the server of a cancellation and nothing else, and the client its status once", async () => {
    const events: string[] = [];
    accept = (stream) =>
      stream.handle({
        message: () => void stream.send(frameMessage(Buffer.from("up"))),
        halfClosed: () => void events.push("halfClosed"),
        cancelled: () => void events.push(`cancelled, send says ${stream.send(frameMessage(Buffer.alloc(1)))}`),
      });
    const status = vi.fn<(status: GrpcStatus) => void>();
    const stream = channel.openStream(PATH, {
      message() {
        stream.cancel();
        stream.cancel();
      },
      status,
    });
    stream.send(frameMessage(Buffer.from("go")));
    await vi.waitFor(() => expect(events).toEqual(["cancelled, send says false"]));
    expect(status.mock.calls.map(([{ code }]) => code)).toEqual([StatusCode.CANCELLED]);
    expect(stream.send(frameMessage(Buffer.alloc(1)))).toBe(false);
    expect(stream.writable).toBe(false);
  });

  it("holds messages back until the server has its handlers", async () => {
    let late: ServerStream | undefined;
    accept = (stream) => {
      late = stream;
    };
    const status = new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(PATH, { message: () => {}, status: resolve });
      stream.send(frameMessage(Buffer.from("early")));
      stream.halfClose();
    });
    await vi.waitFor(() => expect(late).toBeDefined());
    const received: string[] = [];
    late?.handle({
      message: (buffer, start, end) => void received.push(buffer.toString("utf8", start, end)),
      halfClosed: () => late?.end(),
    });
    expect((await status).code).toBe(StatusCode.OK);
    expect(received).toEqual(["early"]);
  });
});

describe("a stream that is paused", () => {
  it("delivers no further message, not even those that came in one piece with the last, and then all before the end", async () => {
    const received: string[] = [];
    let paused: ServerStream | undefined;
    accept = (stream) => {
      paused = stream;
      stream.handle({
        message: (buffer, start, end) => {
          received.push(buffer.toString("utf8", start, end));
          stream.pause();
        },
        halfClosed: () => stream.end({ code: StatusCode.OK, message: received.join() }),
      });
    };
    const status = new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(PATH, { message: () => {}, status: resolve });
      for (const text of ["a", "b", "c"]) stream.send(frameMessage(Buffer.from(text)));
      stream.halfClose();
    });
    for (const expected of ["a", "a,b", "a,b,c"]) {
      await vi.waitFor(() => expect(received.join()).toBe(expected));
      // When the server has answered a PING, later messages have arrived too.
      await new Promise<void>((resolve) => channel.ping(() => resolve()));
      expect(received.join()).toBe(expected);
      paused?.resume();
    }
    expect(await status).toEqual({ code: StatusCode.OK, message: "a,b,c" });
  });

  it("ends with what is wrong with a message that it held back", async () => {
    let count = 0;
    let paused: ServerStream | undefined;
    accept = (stream) => {
      paused = stream;
      stream.handle({
        message: () => {
          if (count++ > 0) throw new Error("bad frame");
          stream.pause();
        },
      });
    };
    const status = new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(PATH, { message: () => {}, status: resolve });
      stream.send(frameMessage(Buffer.from("a")));
      stream.send(frameMessage(Buffer.from("b")));
    });
    await vi.waitFor(() => expect(count).toBe(1));
    paused?.resume();
    expect(await status).toEqual({ code: StatusCode.INTERNAL, message: "bad frame" });
  });
});

describe("faults in the server's code", () => {
  it("become the status of the stream, whether on accepting or on a message", async () => {
    accept = () => {
      throw new Error("no room");
    };
    expect(await talk()).toEqual({ code: StatusCode.INTERNAL, message: "no room" });
    accept = (stream) =>
      stream.handle({
        message() {
          throw new Error("bad frame");
        },
      });
    expect(await talk()).toEqual({ code: StatusCode.INTERNAL, message: "bad frame" });
  });
});
