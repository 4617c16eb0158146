import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { encodeNames } from "./alternative-names.ts";
import { bits, elementsOf, integer, objectId, octets, sequence, singleSet, tagged, time, utf8, yes } from "./der.ts";

const ID = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** In `keyUsage`: sign data; sign certificates and lists of revoked ones. */
const SIGN_DATA = { bytes: Buffer.from([0b1000_0000]), unused: 7 };
const SIGN_CERTIFICATES = { bytes: Buffer.from([0b0000_0110]), unused: 1 };

/**
 * What a certificate allows its holder: `authority` signs others. `worker` is a server and, for the calls of its tasks,
 * a client. `client` is only a client.
 */
export type CertificateRole = "authority" | "worker" | "client";

/** The content of a certificate. */
export interface CertificateContent {
  readonly role: CertificateRole;
  /** The name that people see. */
  readonly commonName: string;
  /** Host names, addresses and URIs that the certificate is for. */
  readonly names: readonly string[];
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The signer of a certificate. The certificate of an authority itself needs only its key. */
export interface Issuer {
  readonly privateKey: KeyObject;
  readonly certificate?: X509Certificate;
}

/** Makes a certificate and signs it with the issuer's key, which must be on the curve P-256. Returns PEM. */
export function issueCertificate(content: CertificateContent, issuer: Issuer): string {
  const algorithm = sequence(objectId(ID.ecdsaWithSha256));
  const subject = sequence(singleSet(sequence(objectId(ID.commonName), utf8(content.commonName))));
  const body = sequence(
    tagged(0, true, integer(2n)),
    // 127 random bits: positive, and never used twice.
    integer(BigInt(`0x${randomBytes(16).toString("hex")}`) >> 1n),
    algorithm,
    issuer.certificate === undefined ? subject : subjectOf(issuer.certificate),
    sequence(time(content.notBefore), time(content.notAfter)),
    subject,
    publicKeyInfo(content.publicKey),
    tagged(3, true, sequence(...extensions(content, createPublicKey(issuer.privateKey)))),
  );
  const signature = sign("sha256", body, issuer.privateKey);
  const base64 = sequence(body, algorithm, bits(signature)).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, "$&\n")}-----END CERTIFICATE-----\n`;
}

/** The role that a certificate was made for. */
export function roleOf(certificate: X509Certificate): CertificateRole {
  if (certificate.ca) return "authority";
  // The type is a list of names of extended usages. The type declarations of Node.js 20 say that it is always present.
  const usages: readonly string[] | undefined = certificate.keyUsage;
  return usages === undefined || usages.includes(ID.serverAuth) ? "worker" : "client";
}

function extensions({ role, names, publicKey }: CertificateContent, issuerKey: KeyObject): Buffer[] {
  const isAuthority = role === "authority";
  const usage = isAuthority ? SIGN_CERTIFICATES : SIGN_DATA;
  const purposes = role === "worker" ? [ID.serverAuth, ID.clientAuth] : [ID.clientAuth];
  return [
    // An authority signs certificates of workers and clients, not of further authorities.
    extension(ID.basicConstraints, true, isAuthority ? sequence(yes(), integer(0n)) : sequence()),
    extension(ID.keyUsage, true, bits(usage.bytes, usage.unused)),
    ...(isAuthority ? [] : [extension(ID.extendedKeyUsage, false, sequence(...purposes.map(objectId)))]),
    ...(names.length === 0 ? [] : [extension(ID.subjectAltName, false, encodeNames(names))]),
    extension(ID.subjectKeyId, false, octets(keyId(publicKey))),
    extension(ID.authorityKeyId, false, sequence(tagged(0, false, keyId(issuerKey)))),
  ];
}

function extension(id: string, isCritical: boolean, value: Uint8Array): Buffer {
  return sequence(objectId(id), ...(isCritical ? [yes()] : []), octets(value));
}

function publicKeyInfo(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

/**
 * Identifies a key, so that a verifier finds the certificate of its owner. It is not secret, and security does not
 * depend on it.
 */
function keyId(key: KeyObject): Buffer {
  return createHash("sha256").update(publicKeyInfo(key)).digest().subarray(0, 20);
}

/** The subject of a certificate, byte for byte: it must be the issuer in the certificates that it signs. */
function subjectOf(certificate: X509Certificate): Uint8Array {
  const [body = certificate.raw] = elementsOf(certificate.raw);
  const subject = elementsOf(body)[5];
  if (subject === undefined) throw new RangeError("the certificate of the authority has no subject");
  return subject;
}
