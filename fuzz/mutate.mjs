/** Changes messages but keeps much of their structure: an input that is nearly right gets further than noise. */
import { createHash } from "node:crypto";
import { bytesField, integerField, putTogether, takeApart } from "./protobuf.mjs";

/** The frame with a piece of code, in both directions. */
const DEPENDENCY = 8;

const NUMBERS = [
  0n,
  1n,
  2n,
  127n,
  128n,
  255n,
  4095n,
  65_535n,
  65_536n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];
/** Texts that have caused errors elsewhere: names on prototypes, paths, other encodings. */
const TEXTS = [
  "__proto__",
  "constructor",
  "prototype",
  "../../../etc/passwd",
  "/dev/shm/x",
  "",
  "\0",
  "é".repeat(300),
  "then",
  "toString",
];

/** A message of frames of the corpus, most of them changed. */
export function mutateMessage(random, frames) {
  const count = 1 + random.integer(8);
  const parts = [];
  for (let i = 0; i < count; i++) {
    const frame = random.pick(frames);
    parts.push(random.chance(3) ? frame : mutateFrame(random, frame, 3));
  }
  let bytes = Buffer.concat(parts);
  if (random.chance(10)) bytes = flip(random, bytes);
  if (random.chance(20)) bytes = bytes.subarray(0, random.integer(bytes.length + 1));
  return bytes;
}

function mutateFrame(random, frame, depth) {
  const [field] = takeApart(frame) ?? [];
  if (field === undefined) return flip(random, frame);
  switch (random.integer(12)) {
    case 0:
      return bytesField(1 + random.integer(30), Buffer.from(field.value.length === undefined ? [] : field.value));
    case 1:
      return putTogether([{ ...field, lie: Number(random.pick(NUMBERS) & 0xffffffffn) }]);
    case 2:
      return integerField(field.number, random.pick(NUMBERS));
    case 3:
      return flip(random, frame);
    case 4:
      return Buffer.concat([frame, frame]);
    default:
      if (field.type !== 2) return frame;
      return bytesField(field.number, withHash(random, field.number, mutateBody(random, field.value, depth)));
  }
}

/** The hash by which code is addressed. */
export function contentHash(bytes) {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 32);
}

/** Usually corrects the hash of changed code: a wrong hash would stop it early. */
function withHash(random, number, body) {
  if (number !== DEPENDENCY || random.chance(4)) return body;
  const fields = takeApart(body);
  const data = fields?.find((field) => field.number === 3)?.value;
  if (fields === undefined || data === undefined || typeof data === "bigint") return body;
  const hash = { number: 2, type: 2, value: Buffer.from(contentHash(data)) };
  return putTogether([...fields.filter((field) => field.number !== 2), hash]);
}

function mutateBody(random, body, depth) {
  const fields = takeApart(body);
  if (fields === undefined || fields.length === 0) return mutateBytes(random, body);
  const index = random.integer(fields.length);
  const field = fields[index];
  switch (random.integer(8)) {
    case 0:
      fields.splice(index, 1);
      break;
    case 1:
      fields.splice(index, 0, field);
      break;
    case 2:
      fields.push({ number: 1 + random.integer(20), type: 0, value: random.pick(NUMBERS) });
      break;
    case 3:
      fields[index] = { ...field, lie: Number(random.pick(NUMBERS) & 0xffffffffn) };
      break;
    default:
      if (field.type === 0)
        fields[index] = { ...field, value: random.chance(2) ? BigInt(random.integer(12)) : random.pick(NUMBERS) };
      else if (depth > 0 && random.chance(2))
        fields[index] = { ...field, value: mutateBody(random, field.value, depth - 1) };
      else fields[index] = { ...field, value: mutateBytes(random, field.value) };
  }
  return putTogether(fields);
}

function mutateBytes(random, bytes) {
  switch (random.integer(7)) {
    case 0:
      return bytes.subarray(0, random.integer(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, random.bytes(random.integer(64))]);
    case 2:
      return Buffer.from(random.pick(TEXTS), "utf8");
    case 3:
      // The same field repeatedly nested: values inside values, without an end.
      return Buffer.concat(
        Array.from({ length: 1 + random.integer(3000) }, () => bytes.subarray(0, 1 + random.integer(4))),
      );
    case 4: {
      const at = random.integer(bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(TEXTS), "utf8"), bytes.subarray(at)]);
    }
    default:
      return flip(random, bytes);
  }
}

function flip(random, bytes) {
  const changed = Buffer.from(bytes);
  for (let i = 0, count = 1 + random.integer(4); i < count && changed.length > 0; i++) {
    changed[random.integer(changed.length)] = random.integer(256);
  }
  return changed;
}
