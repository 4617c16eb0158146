import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { type Response, ResponseSchema, Worker } from "../../src/gen/wool/v1/worker_pb.ts";
import { type GrpcStream, GrpcWorker } from "./grpc-worker.ts";
import { request } from "./wire-requests.ts";

/** The caller's end of a lane: a connection to a task thread that can send anything. */
export class RawLane {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #bytes = Buffer.alloc(0);

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
  }

  send(message: Uint8Array, claimedBytes = message.length): boolean {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(claimedBytes, 1);
    return this.socket.write(Buffer.concat([prefix, message]));
  }

  /** Keeps what comes from now on. */
  read(): this {
    this.socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
    });
    return this;
  }

  get receivedBytes(): number {
    return this.#bytes.length;
  }

  get messages(): Response[] {
    const found: Response[] = [];
    for (let at = 0; at + 5 <= this.#bytes.length; ) {
      const end = at + 5 + this.#bytes.readUInt32BE(at + 1);
      if (end > this.#bytes.length) break;
      found.push(fromBinary(ResponseSchema, this.#bytes.subarray(at + 5, end)));
      at = end;
    }
    return found;
  }
}

/** A session whose lane is connected, but has not been shown a ticket. */
export interface OpenedLane {
  readonly stream: GrpcStream<Response>;
  readonly lane: RawLane;
  readonly ticket: string;
  /** Where its task thread listens. */
  readonly path: string;
}

/** Opens a session with a worker on a unix socket, and a connection to the task thread beside it. */
export async function openLane(client: GrpcWorker, address: string): Promise<OpenedLane> {
  const stream = client.open(Worker.method.dispatch);
  stream.send(request({ hello: { version: 1, minimumVersion: 1, callerId: "test", takesLane: true } }));
  const { welcome } = await stream.message(0);
  if (welcome === undefined) throw new Error("not welcome");
  const path = join(dirname(address.slice("unix:".length)), welcome.laneSocket);
  return { stream, lane: new RawLane(path), ticket: welcome.laneTicket, path };
}

/** A session that sends all of its messages through its lane. */
export class RawLaneSession implements Disposable {
  readonly stream: GrpcStream<Response>;
  readonly lane: RawLane;
  readonly #client: GrpcWorker;

  constructor(client: GrpcWorker, { stream, lane, ticket }: OpenedLane) {
    this.#client = client;
    this.stream = stream;
    this.lane = lane;
    lane.send(Buffer.from(ticket));
  }

  static async open(address: string): Promise<RawLaneSession> {
    const client = new GrpcWorker(address);
    return new RawLaneSession(client, await openLane(client, address));
  }

  send(message: Uint8Array, claimedBytes?: number): boolean {
    return this.lane.send(message, claimedBytes);
  }

  read(): void {
    this.lane.read();
  }

  get receivedBytes(): number {
    return this.lane.receivedBytes;
  }

  [Symbol.dispose](): void {
    this.lane.socket.destroy();
    this.stream.cancel();
    this.#client[Symbol.dispose]();
  }
}

/** How many connections this machine has at a path, on the side of the listener. */
export function connectionsAt(path: string): number {
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  return lines.filter((line) => line.endsWith(` ${path}`) && line.split(/\s+/)[5] === "03").length;
}
