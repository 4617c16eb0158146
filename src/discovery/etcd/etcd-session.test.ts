import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RangeResponseSchema, WatchRequestSchema, WatchResponseSchema } from "../../gen/etcdserverpb/rpc_pb.ts";
import { frameMessage, GrpcServer, type ServerStream } from "../../grpc/index.ts";
import { EtcdSession } from "./etcd-session.ts";

/** A server that answers as a test wants. */
class FakeEtcd {
  readonly server = new GrpcServer();
  /** What is in the store, and its revision. */
  entries: Record<string, string> = {};
  revision = 1n;
  /** The revisions from which it was watched, and the streams. */
  readonly watched: { readonly from: bigint; readonly stream: ServerStream }[] = [];

  constructor() {
    this.server.addUnary("/etcdserverpb.KV/Range", () =>
      toBinary(
        RangeResponseSchema,
        create(RangeResponseSchema, {
          header: { revision: this.revision },
          kvs: Object.entries(this.entries).map(([uid, text]) => ({
            key: Buffer.from(`p/${uid}`),
            value: Buffer.from(text),
          })),
        }),
      ),
    );
    this.server.addStream("/etcdserverpb.Watch/Watch", (stream) =>
      stream.handle({
        message: (buffer, start, end) => {
          const { request } = fromBinary(WatchRequestSchema, buffer.subarray(start, end));
          if (request.case === "createRequest") this.watched.push({ from: request.value.startRevision, stream });
        },
      }),
    );
  }

  tell(message: MessageInitShape<typeof WatchResponseSchema>): void {
    this.watched.at(-1)?.stream.send(frameMessage(toBinary(WatchResponseSchema, create(WatchResponseSchema, message))));
  }
}

let etcd: FakeEtcd;
let endpoint: string;
const told: unknown[] = [];
const events = {
  entries: (all: ReadonlyMap<string, string>) => void told.push([...all.keys()]),
  changed: (uid: string, text: string | undefined) => void told.push([uid, text]),
  lost: (error: Error) => void told.push(error.message),
};

beforeEach(async () => {
  etcd = new FakeEtcd();
  told.length = 0;
  const listen = await etcd.server.listen({ host: "127.0.0.1", port: 0 });
  endpoint = `127.0.0.1:${listen.port}`;
});
afterEach(() => etcd.server.close());

const open = () =>
  EtcdSession.open({ endpoint, prefix: "p/", ttl: 10, connectTimeout: 5000, user: undefined, tls: undefined }, events);

describe("a watch", () => {
  it("begins right after what was read", async () => {
    etcd.entries = { a: "1" };
    etcd.revision = 41n;
    const session = await open();
    await session.follow();
    await vi.waitFor(() => expect(etcd.watched.map(({ from }) => from)).toEqual([42n]));
    etcd.tell({ events: [{ kv: { key: Buffer.from("p/b%2F"), value: Buffer.from("2") } }] });
    etcd.tell({ events: [{ type: 1, kv: { key: Buffer.from("p/a") } }] });
    await vi.waitFor(() => expect(told).toEqual([["a"], ["b/", "2"], ["a", undefined]]));
    await session.close();
  });

  it("that asks for revisions which were compacted begins anew with all there is", async () => {
    etcd.entries = { a: "1" };
    const session = await open();
    await session.follow();
    await vi.waitFor(() => expect(etcd.watched).toHaveLength(1));
    etcd.entries = { b: "2" };
    etcd.revision = 90n;
    etcd.tell({ canceled: true, compactRevision: 80n, cancelReason: "required revision has been compacted" });
    await vi.waitFor(() => expect(etcd.watched.map(({ from }) => from)).toEqual([2n, 91n]));
    expect(told).toEqual([["a"], ["b"]]);
    await session.close();
  });

  it("that is cancelled for another reason ends the session, once", async () => {
    const session = await open();
    await session.follow();
    await vi.waitFor(() => expect(etcd.watched).toHaveLength(1));
    etcd.tell({ canceled: true, cancelReason: "permission denied" });
    await vi.waitFor(() => expect(told).toEqual([[], "the watch was cancelled: permission denied"]));
    await session.close();
    expect(told).toHaveLength(2);
  });
});

it("a server that goes ends the session, once", async () => {
  const session = await open();
  await session.follow();
  await etcd.server.close();
  await vi.waitFor(() => expect(told).toHaveLength(2));
  await session.close();
});
