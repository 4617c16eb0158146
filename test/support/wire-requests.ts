import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RequestSchema } from "../../src/gen/wool/v1/worker_pb.ts";

/** The bytes of a message to a worker. */
export function request(init: MessageInitShape<typeof RequestSchema>): Uint8Array {
  return toBinary(RequestSchema, create(RequestSchema, init));
}

/** The bytes of a first message. */
export function hello(version = 1, minimumVersion = 1, lane = 0): Uint8Array {
  return request({ hello: { version, minimumVersion, callerId: "test", lane } });
}
