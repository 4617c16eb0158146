/** Protobuf as bytes: enough to take messages apart, to change their parts, and to write new ones. */

export function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** A field of bytes. `length` may lie. */
export function bytesField(number, bytes, length = bytes.length) {
  return Buffer.concat([varint((number << 3) | 2), varint(length), bytes]);
}

export function integerField(number, value) {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

/** The fields of a message as `{ number, type, value }`; undefined when it is not a message. */
export function takeApart(bytes) {
  const fields = [];
  let at = 0;
  const read = () => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw new RangeError("no integer");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7n;
    }
  };
  try {
    while (at < bytes.length) {
      const tag = read();
      const [number, type] = [Number(tag >> 3n), Number(tag & 7n)];
      if (type === 0) fields.push({ number, type, value: read() });
      else if (type === 2) {
        const length = Number(read());
        if (at + length > bytes.length) return undefined;
        fields.push({ number, type, value: bytes.subarray(at, at + length) });
        at += length;
      } else return undefined;
    }
  } catch {
    return undefined;
  }
  return fields;
}

/** Puts the fields of `takeApart` together again. */
export function putTogether(fields) {
  return Buffer.concat(
    fields.map(({ number, type, value, lie }) =>
      type === 0 ? integerField(number, value) : bytesField(number, value, lie ?? value.length),
    ),
  );
}
