import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { types } from "node:util";
import { describeValue, isError, messageOf } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { readNames } from "./certificates/index.ts";

/** A certificate or key in PEM form: text, or the bytes of a file. */
export type PEM = string | Uint8Array;

/** The parts of credentials. */
export interface CredentialsMaterial {
  /** The certificates of the authorities whose certificates are accepted, one after the other. */
  readonly ca: PEM;
  /** The private key. Required, unless a caller uses `mutual: false`. */
  readonly key?: PEM;
  /** The certificate of the key, followed by intermediate certificates, if any. */
  readonly cert?: PEM;
  /** Whether both sides show a certificate. If false, only the worker does. Default: true. */
  readonly mutual?: boolean;
}

/** The files of the parts of credentials. */
export interface CredentialsFiles {
  readonly ca: string;
  readonly key?: string;
  readonly cert?: string;
  /** Whether both sides show a certificate. Default: true. */
  readonly mutual?: boolean;
}

/** Credentials in the form for TLS and for worker processes. */
export interface CredentialsText {
  readonly ca: string;
  readonly key: string | undefined;
  readonly cert: string | undefined;
  readonly mutual: boolean;
}

/** Reads the private part of credentials. Set by the class, so that no other code can read a key. */
let textOf: (credentials: WorkerCredentials) => CredentialsText;

/**
 * A certificate, its key and the trusted authority. A pool or proxy with credentials uses only workers with TLS. A
 * worker with credentials accepts only callers with TLS.
 */
export class WorkerCredentials {
  /** Whether both sides show a certificate. */
  readonly mutual: boolean;
  /** The names in the certificate: host names, addresses, URIs. */
  readonly names: readonly string[];
  /** When the certificate expires; undefined without one. */
  readonly expires: Date | undefined;
  readonly #text: CredentialsText;

  static {
    textOf = (credentials) => credentials.#text;
  }

  /** Throws `InvalidArgument` for a part that is not PEM, and for a key that does not belong to the certificate. */
  constructor(material: CredentialsMaterial) {
    if (typeof material !== "object" || material === null) {
      throw new InvalidArgument(`WorkerCredentials takes { ca, key, cert }, not ${describeValue(material)}`);
    }
    const { mutual = true } = material;
    if (typeof mutual !== "boolean") {
      throw new InvalidArgument(`WorkerCredentials: mutual must be true or false, not ${describeValue(mutual)}`);
    }
    const ca = pemOf(material.ca, "ca");
    for (const block of certificatesIn(ca)) parseCertificate(block, "ca");
    const isBare = material.key === undefined && material.cert === undefined && !mutual;
    const key = isBare ? undefined : pemOf(material.key, "key");
    const cert = isBare ? undefined : pemOf(material.cert, "cert");
    const certificate = cert === undefined ? undefined : parseCertificate(cert, "cert");
    if (certificate !== undefined && key !== undefined) checkPair(certificate, key);
    this.mutual = mutual;
    this.names = readNames(certificate?.subjectAltName);
    this.expires = certificate === undefined ? undefined : new Date(certificate.validTo);
    this.#text = { ca, key, cert, mutual };
  }

  /** Reads credentials from files. Throws `InvalidArgument` with the file that cannot be read or used. */
  static async fromFiles(files: CredentialsFiles): Promise<WorkerCredentials> {
    const { ca, key, cert, mutual } = files;
    const [caText, keyText, certText] = await Promise.all([
      readPart(ca, "ca"),
      key === undefined ? undefined : readPart(key, "key"),
      cert === undefined ? undefined : readPart(cert, "cert"),
    ]);
    return new this({
      ca: caText,
      ...(keyText === undefined ? {} : { key: keyText }),
      ...(certText === undefined ? {} : { cert: certText }),
      ...(mutual === undefined ? {} : { mutual }),
    });
  }
}

/** The parts of credentials, including the private key: for TLS, and for the process of a worker. */
export function credentialsText(credentials: WorkerCredentials): CredentialsText {
  return textOf(credentials);
}

function pemOf(value: unknown, part: string): string {
  const text = typeof value === "string" ? value : types.isUint8Array(value) ? Buffer.from(value).toString("utf8") : "";
  if (text.includes("-----BEGIN ")) return text;
  const given =
    value === undefined ? "nothing" : typeof value === "string" ? "a text without it" : describeValue(value);
  throw new InvalidArgument(
    `WorkerCredentials: ${part} must be PEM, which begins with -----BEGIN, not ${given}` +
      (typeof value === "string" && !value.includes("\n") ? "; use WorkerCredentials.fromFiles for a path" : ""),
  );
}

function certificatesIn(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g);
  return blocks ?? [pem];
}

function parseCertificate(pem: string, part: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new InvalidArgument(`WorkerCredentials: ${part} is not a certificate: ${reason}`, { cause });
  }
}

function checkPair(certificate: X509Certificate, pem: string): void {
  let isPair: boolean;
  try {
    isPair = certificate.checkPrivateKey(createPrivateKey(pem));
  } catch (cause) {
    const reason = /ENCRYPTED/.test(pem)
      ? "it is encrypted. Decrypt it first, as with `openssl pkey -in FILE`"
      : isError(cause)
        ? cause.message
        : String(cause);
    throw new InvalidArgument(`WorkerCredentials: key is not a private key that can be used: ${reason}`, { cause });
  }
  if (!isPair) {
    throw new InvalidArgument(
      "WorkerCredentials: key does not belong to cert. Give the key that the certificate was made for",
    );
  }
}

async function readPart(path: unknown, part: string): Promise<string> {
  if (typeof path !== "string" || path === "") {
    throw new InvalidArgument(
      `WorkerCredentials.fromFiles: ${part} must be the path of a file, not ${describeValue(path)}`,
    );
  }
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const reason = messageOf(cause);
    throw new InvalidArgument(`WorkerCredentials.fromFiles: ${part} cannot be read: ${reason}`, { cause });
  }
}
