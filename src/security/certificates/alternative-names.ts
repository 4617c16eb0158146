import { isIP } from "node:net";
import { InvalidArgument } from "../../errors.ts";
import { sequence, tagged } from "./der.ts";

/** Places of the kinds of names in `GeneralName`. */
const EMAIL = 1;
const DNS = 2;
const URI = 6;
const IP = 7;

/** The kinds of names as Node.js prints them. */
const PRINTED_KINDS = { host: "DNS:", address: "IP Address:", uri: "URI:", email: "email:" } as const;

/** What a name in a certificate says of itself. A host name may look like a URI, and is none. */
export type NameKind = keyof typeof PRINTED_KINDS | "other";

/**
 * Encodes the names that a certificate is for. What a name is shows in itself: an address, a URI such as
 * `spiffe://example.org/worker`, an email address, or else a host name.
 */
export function encodeNames(names: readonly string[]): Buffer {
  return sequence(...names.map(encodeName));
}

/** Throws `InvalidArgument` for what cannot be a name in a certificate. */
export function checkName(name: string): void {
  if (kindOf(name) !== undefined) return;
  throw new InvalidArgument(
    `${JSON.stringify(name)} cannot be a name in a certificate: give a host name such as "worker-1.example.org", ` +
      `an address such as "10.0.0.7", or a URI such as "spiffe://example.org/worker"`,
  );
}

/** The names in the text that `X509Certificate.subjectAltName` gives; of one kind only if that is given. */
export function readNames(printed: string | undefined, wanted?: NameKind): string[] {
  if (printed === undefined || printed === "") return [];
  return printed.split(", ").flatMap((part) => {
    const [kind, prefix] = kindOfPrinted(part);
    if (wanted !== undefined && kind !== wanted) return [];
    const text = part.slice(prefix.length);
    // Node.js quotes what could be mistaken for more than one name, and writes commas in it in another way.
    return [text.startsWith('"') ? String(JSON.parse(text)) : text];
  });
}

function kindOfPrinted(part: string): readonly [NameKind, string] {
  if (part.startsWith(PRINTED_KINDS.host)) return ["host", PRINTED_KINDS.host];
  if (part.startsWith(PRINTED_KINDS.address)) return ["address", PRINTED_KINDS.address];
  if (part.startsWith(PRINTED_KINDS.uri)) return ["uri", PRINTED_KINDS.uri];
  return part.startsWith(PRINTED_KINDS.email) ? ["email", PRINTED_KINDS.email] : ["other", ""];
}

function kindOf(name: string): number | undefined {
  if (isIP(name) !== 0) return IP;
  if (/^[a-z][a-z\d+.-]*:\/\/[\x21\x23-\x2b\x2d-\x7e]+$/i.test(name)) return URI;
  if (/^[\w.+-]+@[\w.-]+$/.test(name)) return EMAIL;
  return /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$/.test(name) && name.length <= 253 ? DNS : undefined;
}

function encodeName(name: string): Buffer {
  checkName(name);
  const kind = kindOf(name) ?? DNS;
  return tagged(kind, false, kind === IP ? addressBytes(name) : Buffer.from(name, "ascii"));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  // The URL parser writes every form of an address in one way, but still with the longest run of zeros left out.
  const plain = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
  const [head = "", tail] = plain.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const bytes = Buffer.alloc(16);
  for (const [i, group] of [...before, ...zeros, ...after].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2);
  return bytes;
}
