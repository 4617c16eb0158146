// Encoding and decoding of single values, against v8.serialize and JSON. Run it with: npx tsx benchmarks/values/codec.mjs
import { deserialize, serialize } from "node:v8";
import { ValueDecoder, ValueEncoder } from "../../src/values/index.ts";

const ROUNDS = 15;
const ROUND_TIME = 15_000_000n;

function kilobyte() {
  const rows = [];
  const value = { id: 12345, name: "Widget number 42", active: true, price: 12.5, tags: ["alpha", "beta"], rows };
  while (JSON.stringify(value).length < 1000)
    rows.push({ k: rows.length, v: `value-${rows.length}`, w: rows.length * 1.5 });
  return value;
}

const values = {
  "[1,2]": [1, 2],
  "1 KB object": kilobyte(),
  "1 MB bytes": new Uint8Array(1 << 20),
  "1 MB Buffer": Buffer.alloc(1 << 20),
};

const encoder = new ValueEncoder();
const decoder = new ValueDecoder();
const codecs = {
  "wool-ts": { encode: (value) => encoder.encode(value), decode: (bytes) => decoder.decode(bytes) },
  "wool-ts, list and owned": {
    encode: (value) => (Array.isArray(value) ? encoder.encodeList(value) : encoder.encode(value)),
    decode: (bytes) => decoder.decode(bytes, 0, bytes.length, { owned: true }),
  },
  "v8.serialize": { encode: serialize, decode: deserialize },
  JSON: { encode: (value) => Buffer.from(JSON.stringify(value)), decode: (bytes) => JSON.parse(bytes.toString()) },
};

/** Nanoseconds per call, for about ROUND_TIME. */
function time(action) {
  let calls = 0;
  const start = process.hrtime.bigint();
  let now = start;
  while (now - start < ROUND_TIME) {
    for (let index = 0; index < 10; index++) action();
    calls += 10;
    now = process.hrtime.bigint();
  }
  return Number(now - start) / calls;
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const table = [];
for (const [what, value] of Object.entries(values)) {
  const rows = Object.entries(codecs)
    .filter(([name]) => name !== "JSON" || !ArrayBuffer.isView(value))
    .map(([name, { encode, decode }]) => {
      const bytes = Buffer.from(encode(value));
      return {
        what,
        name,
        size: bytes.length,
        encode: () => encode(value),
        decode: () => decode(bytes),
      };
    });
  const times = rows.map(() => ({ encode: [], decode: [] }));
  // Contenders take turns, so that a disturbance affects all of them.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, row] of rows.entries()) {
      times[index].encode.push(time(row.encode));
      times[index].decode.push(time(row.decode));
    }
  }
  for (const [index, { what, name, size }] of rows.entries()) {
    const { encode, decode } = times[index];
    table.push({ value: what, codec: name, bytes: size, "encode us": us(encode), "decode us": us(decode) });
  }
}
console.table(table);

function us(list) {
  return Number((median(list) / 1000).toFixed(3));
}
