import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AuthenticateResponseSchema,
  DeleteRangeResponseSchema,
  LeaseGrantResponseSchema,
  LeaseRevokeResponseSchema,
  PutResponseSchema,
  RangeResponseSchema,
  WatchRequestSchema,
  WatchResponseSchema,
} from "../../gen/etcdserverpb/rpc_pb.ts";
import { frameMessage, GrpcServer, GrpcStatusError, type ServerStream, StatusCode } from "../../grpc/index.ts";
import { EtcdHistory, EtcdSession } from "./etcd-session.ts";

/** A server that answers as a test decides. */
class FakeEtcd {
  readonly server = new GrpcServer();
  /** The entries in the store, and its revision. */
  entries: Record<string, string> = {};
  revision = 1n;
  /** The revisions from which it was watched, and their streams. */
  readonly watched: { readonly from: bigint; readonly stream: ServerStream }[] = [];

  /** The token that it accepts at present, and how many it has issued. */
  token = "";
  tokens = 0;
  /** Its error for any other token. */
  refusal = new GrpcStatusError(StatusCode.UNAUTHENTICATED, "etcdserver: invalid auth token");

  /** Its error when it is asked for a lease, if it has none to give. */
  noLease: GrpcStatusError | undefined;

  constructor() {
    this.server.addUnary("/etcdserverpb.Lease/LeaseGrant", () => {
      if (this.noLease !== undefined) throw this.noLease;
      return toBinary(LeaseGrantResponseSchema, create(LeaseGrantResponseSchema, { id: 1n, ttl: 10n }));
    });
    this.server.addUnary("/etcdserverpb.Lease/LeaseRevoke", () =>
      toBinary(LeaseRevokeResponseSchema, create(LeaseRevokeResponseSchema, {})),
    );
    this.server.addStream("/etcdserverpb.Lease/LeaseKeepAlive", (stream) =>
      stream.handle({ message: () => undefined }),
    );
    this.server.addUnary("/etcdserverpb.KV/Put", () => toBinary(PutResponseSchema, create(PutResponseSchema, {})));
    this.server.addUnary("/etcdserverpb.Auth/Authenticate", () => {
      this.token = `token ${++this.tokens}`;
      return toBinary(AuthenticateResponseSchema, create(AuthenticateResponseSchema, { token: this.token }));
    });
    this.server.addUnary("/etcdserverpb.KV/DeleteRange", (_request, { headers }) => {
      if (headers["token"] !== this.token) throw this.refusal;
      return toBinary(DeleteRangeResponseSchema, create(DeleteRangeResponseSchema, {}));
    });
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

const open = (user?: { readonly name: string; readonly password: string }) =>
  EtcdSession.open(
    { endpoint, prefix: "p/", ttl: 10, connectTimeout: 5000, user, tls: undefined, history: new EtcdHistory() },
    events,
  );

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

it("a session that gets no lease asks for one again when there is more to put", async () => {
  const session = await open();
  etcd.noLease = new GrpcStatusError(StatusCode.UNAVAILABLE, "etcdserver: request timed out");
  await expect(session.put("a", "1")).rejects.toThrow("request timed out");
  etcd.noLease = undefined;
  expect(await session.put("a", "1")).toBeUndefined();
  await session.close();
});

describe("a session with a user", () => {
  it("signs in again when its token has expired, once for all that waits for it", async () => {
    const session = await open({ name: "ada", password: "secret" });
    await session.remove("a");
    expect(etcd.tokens).toBe(1);
    etcd.token = "another";
    await Promise.all([session.remove("a"), session.remove("b"), session.remove("c")]);
    expect(etcd.tokens).toBe(2);
    etcd.token = "another";
    etcd.refusal = new GrpcStatusError(StatusCode.INVALID_ARGUMENT, "etcdserver: revision of auth store is old");
    await session.remove("a");
    expect(etcd.tokens).toBe(3);
    await session.close();
  });

  it("does not try again what is refused for another reason", async () => {
    const session = await open({ name: "ada", password: "secret" });
    etcd.token = "another";
    etcd.refusal = new GrpcStatusError(StatusCode.PERMISSION_DENIED, "etcdserver: permission denied");
    await expect(session.remove("a")).rejects.toThrow("permission denied");
    expect(etcd.tokens).toBe(1);
    await session.close();
  });
});

it("a server that goes ends the session, once", async () => {
  const session = await open();
  await session.follow();
  await etcd.server.close();
  await vi.waitFor(() => expect(told).toHaveLength(2));
  await session.close();
});

it("the data of a cluster is another one when its revisions begin anew, whoever heard of them", () => {
  const history = new EtcdHistory();
  const first = history.dataAt(5n);
  expect(history.dataAt(5n)).toBe(first);
  expect(history.dataAt(8n)).toBe(first);
  history.heard(900n);
  history.heard(7n);
  const second = history.dataAt(12n);
  expect(second).not.toBe(first);
  expect(history.dataAt(13n)).toBe(second);
});
