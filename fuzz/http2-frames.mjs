/** HTTP/2 and gRPC as bytes, for peers that break the rules. */

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
};

export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;

/** One HTTP/2 frame. `length` may lie about the payload. */
export function frame(type, flags, stream, payload = Buffer.alloc(0), length = payload.length) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length & 0xffffff, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream & 0x7fffffff, 5);
  return Buffer.concat([head, payload]);
}

/** A header block without compression: literal fields that are not indexed. */
export function headerBlock(fields) {
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
}

function text(value) {
  const bytes = Buffer.from(value, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  length.push(rest);
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** The header block of a gRPC call, with extra fields if needed. */
export function callHeaders(path, extra = []) {
  return headerBlock([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...extra,
  ]);
}

/** A gRPC message. `length` may lie about it. */
export function message(bytes, length = bytes.length) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length >>> 0, 1);
  return Buffer.concat([prefix, bytes]);
}
