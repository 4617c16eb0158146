import { isIP } from "node:net";
import { InvalidArgument } from "../../errors.ts";
import { sequence, tagged } from "./der.ts";

/** Tag numbers of the kinds of names in `GeneralName`. */
const EMAIL = 1;
const DNS = 2;
const URI = 6;
const IP = 7;

/** The kinds of names as Node.js prints them. */
const PRINTED_KINDS = { host: "DNS:", address: "IP Address:", uri: "URI:", email: "email:" } as const;

/** The kind of a name, as the certificate declares it. A host name that looks like a URI is still a host name. */
export type NameKind = keyof typeof PRINTED_KINDS | "other";

/**
 * Encodes the names that a certificate is for. The form of a name decides its kind: an address, a URI such as
 * `spiffe://example.org/worker`, an email address, or else a host name.
 */
export function encodeNames(names: readonly string[]): Buffer {
  return sequence(...names.map(encodeName));
}

/** Throws `InvalidArgument` for a text that cannot be a name in a certificate. */
export function checkName(name: string): void {
  if (kindOf(name) !== undefined) return;
  throw new InvalidArgument(
    `${JSON.stringify(name)} cannot be a name in a certificate: give a host name such as "worker-1.example.org", ` +
      `an address such as "10.0.0.7", or a URI such as "spiffe://example.org/worker"`,
  );
}

/** The names in the text of `X509Certificate.subjectAltName`; only those of one kind if `wanted` is given. */
export function readNames(printed: string | undefined, wanted?: NameKind): string[] {
  if (printed === undefined || printed === "") return [];
  return printed.split(", ").flatMap((part) => {
    const [kind, prefix] = kindOfPrinted(part);
    if (wanted !== undefined && kind !== wanted) return [];
    const text = part.slice(prefix.length);
    // Node.js quotes a name that could be mistaken for several names, and escapes the commas in it.
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
  // The URL parser normalizes every form of an address, but leaves out the longest run of zeros.
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
