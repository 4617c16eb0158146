import protobuf from "protobufjs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const text = 'syntax = "proto3"; message Point { int32 x = 1; repeated string names = 2; }';
const { root } = protobuf.parse(text);
const Point = root.lookupType("Point");

void check({
  binding: () =>
    routine(() => {
      const Inner = protobuf.parse(text).root.lookupType("Point");
      return Inner.toObject(Inner.decode(Inner.encode({ x: 3, names: ["a"] }).finish()));
    })(),
  instance: () => routine((bytes) => Point.toObject(Point.decode(bytes)))(Point.encode({ x: 3 }).finish()),
  argument: () => routine((it) => it.lookupType("Point").name)(root),
  result: async () => (await routine(() => protobuf.util.newBuffer([1, 2]))()).length,
  thrown: async () => {
    const fail = routine(() => {
      throw new protobuf.util.ProtocolError("bad");
    });
    const error = await reasonOf(fail());
    return [error instanceof protobuf.util.ProtocolError, error.message];
  },
});
