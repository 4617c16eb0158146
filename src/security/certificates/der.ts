/** Distinguished encoding rules of ASN.1, as far as certificates need them. */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One element: its tag, its length and its content. */
function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = bigEndian(BigInt(content.length));
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content]);
}

function bigEndian(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

/** A list of elements in order. */
export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, ...parts);
}

/** A set of one element: larger ones would have to be sorted. */
export function singleSet(part: Uint8Array): Buffer {
  return element(TAG.set, part);
}

/** A whole number, zero or more. */
export function integer(value: bigint): Buffer {
  const bytes = bigEndian(value);
  // If the first bit is set, the number would be negative.
  return (bytes[0] ?? 0) < 0x80 ? element(TAG.integer, bytes) : element(TAG.integer, Buffer.from([0]), bytes);
}

/** True. False is left out, because it is the default everywhere. */
export function yes(): Buffer {
  return element(TAG.boolean, Buffer.from([0xff]));
}

/** Bytes. */
export function octets(bytes: Uint8Array): Buffer {
  return element(TAG.octets, bytes);
}

/** A string of bits. The last `unused` bits of the last byte do not count. */
export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return element(TAG.bits, Buffer.from([unused]), bytes);
}

/** Text. */
export function utf8(text: string): Buffer {
  return element(TAG.utf8, Buffer.from(text, "utf8"));
}

/** An object identifier such as `2.5.29.17`. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f));
    bytes.push(...groups);
  }
  return element(TAG.objectId, Buffer.from(bytes));
}

/** A moment, to the second. Certificates write years from 2050 on in another form. */
export function time(moment: Date): Buffer {
  const digits = moment.toISOString().replace(/[-:T]|\.\d+/g, "");
  const isEarly = moment.getUTCFullYear() < 2050;
  return element(isEarly ? TAG.utcTime : TAG.generalizedTime, Buffer.from(isEarly ? digits.slice(2) : digits, "ascii"));
}

/** An element whose tag depends on its position: `constructed` when it holds other elements. */
export function tagged(number: number, constructed: boolean, content: Uint8Array): Buffer {
  return element((constructed ? 0xa0 : 0x80) | number, content);
}

/** The elements inside a constructed one, each with its tag and length. Throws `RangeError` for truncated data. */
export function elementsOf(bytes: Uint8Array): Uint8Array[] {
  const { start, end } = extent(bytes, 0);
  const children: Uint8Array[] = [];
  for (let at = start; at < end; ) {
    const child = extent(bytes, at);
    children.push(bytes.subarray(at, child.end));
    at = child.end;
  }
  return children;
}

/** Where the content of the element at an offset starts and ends. */
function extent(bytes: Uint8Array, at: number): { start: number; end: number } {
  const first = bytes[at + 1];
  if (first === undefined) throw new RangeError("the certificate is truncated");
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    start += first & 0x7f;
    length = Number(`0x${Buffer.from(bytes.subarray(at + 2, start)).toString("hex") || "0"}`);
  }
  if (start + length > bytes.length) throw new RangeError("the certificate is truncated");
  return { start, end: start + length };
}
