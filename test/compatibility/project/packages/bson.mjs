import { Binary, BSONError, Decimal128, deserialize, Long, ObjectId, serialize, UUID } from "bson";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const TEXT = "507f1f77bcf86cd799439011";
const id = new ObjectId(TEXT);

void check({
  binding: () => routine(() => deserialize(serialize({ a: 1, b: new ObjectId(TEXT) })).b.toHexString())(),
  instance: () => routine(() => id.toHexString())(),
  argument: () => routine((it) => [it.equals(TEXT), it instanceof ObjectId])(id),
  result: async () => {
    const made = await routine(() => ({
      id,
      price: Decimal128.fromString("1.5"),
      count: Long.fromNumber(5),
      uuid: new UUID("00000000-0000-4000-8000-000000000000"),
      bytes: new Binary(Buffer.from("x")),
    }))();
    return [
      [made.id instanceof ObjectId, made.id.toHexString(), made.price.toString()],
      [made.count instanceof Long, made.count.toNumber(), made.uuid.toHexString()],
      [made.bytes instanceof Binary, made.bytes.length()],
    ];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new ObjectId("x"))());
    return [error instanceof BSONError, error.name, error.message];
  },
});
