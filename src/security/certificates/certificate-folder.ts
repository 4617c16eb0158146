import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../checks/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { readNames } from "./alternative-names.ts";
import {
  CertificateAuthority,
  type IssueOptions,
  type KeyAndCertificate,
  type Validity,
} from "./certificate-authority.ts";
import { type CertificateRole, roleOf } from "./issue-certificate.ts";

/** The name of the authority's files. */
const AUTHORITY = "ca";
const OTHERS_MAY_READ = 0o077;

/** A certificate in a folder, for people. */
export interface CertificateReport {
  /** The name of its files. */
  readonly name: string;
  readonly file: string;
  readonly role: CertificateRole;
  readonly commonName: string;
  readonly names: readonly string[];
  readonly validFrom: Date;
  readonly validTo: Date;
  readonly serialNumber: string;
  readonly fingerprint: string;
  /** Its problems, or those of its key; empty if there are none. */
  readonly problems: readonly string[];
}

/**
 * Certificates and keys in a folder: `ca.pem` and `ca.key` of the authority, `NAME.pem` and `NAME.key` of everyone
 * else. Only their owner can read the folder and the keys. A file is always complete, because a new one is renamed into
 * its place.
 */
export class CertificateFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Makes an authority. Throws `InvalidArgument` when there is one and `replace` is not set. */
  createAuthority(commonName: string | undefined, validity: Validity, replace: boolean): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    this.#write(AUTHORITY, CertificateAuthority.create(commonName, validity), replace);
  }

  /** Makes a key and a certificate. Throws `InvalidArgument` when they exist and `replace` is not set, or without an authority. */
  issue(name: string, options: IssueOptions, replace: boolean): void {
    this.#write(checkFileName(name), this.#authority().issue(options), replace);
  }

  /** Replaces a certificate by one for the same key and names. Throws `InvalidArgument` for one that is not the authority's. */
  renew(name: string, validity: Validity): void {
    const renewed = this.#authority().renew(this.#read(`${checkFileName(name)}.pem`), validity);
    this.#replace(`${name}.pem`, renewed, 0o644);
  }

  /** The names of the certificates that are not the authority's own. */
  get names(): string[] {
    if (!existsSync(this.path)) return [];
    const files = readdirSync(this.path).filter((file) => file.endsWith(".pem") && !file.startsWith("."));
    return files.map((file) => file.slice(0, -".pem".length)).filter((name) => name !== AUTHORITY);
  }

  /** The content of a certificate, and its problems. */
  describe(name: string): CertificateReport {
    return describeCertificate(join(this.path, `${name}.pem`), name, join(this.path, `${AUTHORITY}.pem`));
  }

  /** Everything in the folder, the authority first. */
  describeAll(): CertificateReport[] {
    return (existsSync(join(this.path, `${AUTHORITY}.pem`)) ? [AUTHORITY, ...this.names] : this.names).map((name) =>
      this.describe(name),
    );
  }

  #authority(): CertificateAuthority {
    if (!existsSync(join(this.path, `${AUTHORITY}.key`))) {
      throw new InvalidArgument(`there is no authority in ${this.path}: make one first with \`wool certs init\``);
    }
    return new CertificateAuthority({ key: this.#read(`${AUTHORITY}.key`), cert: this.#read(`${AUTHORITY}.pem`) });
  }

  #read(file: string): string {
    try {
      return readFileSync(join(this.path, file), "utf8");
    } catch (cause) {
      const reason = messageOf(cause);
      throw new InvalidArgument(`${join(this.path, file)} cannot be read: ${reason}`, { cause });
    }
  }

  #write(name: string, { key, cert }: KeyAndCertificate, replace: boolean): void {
    const files = [`${name}.key`, `${name}.pem`];
    const existing = files.filter((file) => existsSync(join(this.path, file)));
    if (existing.length > 0 && !replace) {
      throw new InvalidArgument(
        `${existing.map((file) => join(this.path, file)).join(" and ")} would be overwritten: give another name, use ` +
          "`wool certs renew` for a new certificate, or --force",
      );
    }
    this.#replace(`${name}.key`, key, 0o600);
    this.#replace(`${name}.pem`, cert, 0o644);
  }

  #replace(file: string, text: string, mode: number): void {
    const target = join(this.path, file);
    const draft = join(this.path, `.${file}.${randomBytes(6).toString("hex")}`);
    try {
      writeFileSync(draft, text, { mode, flag: "wx" });
      // The umask of the process may have reduced the mode of the new file.
      chmodSync(draft, mode);
      renameSync(draft, target);
    } catch (cause) {
      rmSync(draft, { force: true });
      const reason = messageOf(cause);
      throw new InvalidArgument(`${target} cannot be written: ${reason}`, { cause });
    }
  }
}

/**
 * The content of a certificate file. Throws `InvalidArgument` when it is not a certificate. `authority`: a file to
 * check it against.
 */
export function describeCertificate(file: string, name = file, authority?: string): CertificateReport {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(readFileSync(file));
  } catch (cause) {
    const reason = messageOf(cause);
    throw new InvalidArgument(`${file} is not a certificate: ${reason}`, { cause });
  }
  return {
    name,
    file,
    role: roleOf(certificate),
    commonName: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "",
    names: readNames(certificate.subjectAltName),
    validFrom: new Date(certificate.validFrom),
    validTo: new Date(certificate.validTo),
    serialNumber: certificate.serialNumber,
    fingerprint: certificate.fingerprint256,
    problems: problemsOf(certificate, file, authority),
  };
}

function problemsOf(certificate: X509Certificate, file: string, authority: string | undefined): string[] {
  const problems: string[] = [];
  const now = Date.now();
  if (now > Date.parse(certificate.validTo)) problems.push("it has expired: renew it");
  if (now < Date.parse(certificate.validFrom)) problems.push("it is not valid yet: check the clock");
  if (
    authority !== undefined &&
    existsSync(authority) &&
    !certificate.verify(new X509Certificate(readFileSync(authority)).publicKey)
  ) {
    problems.push("the authority in this folder did not issue it");
  }
  const key = file.replace(/\.pem$/, ".key");
  if (key === file || !existsSync(key)) return problems;
  if (process.platform !== "win32" && (statSync(key).mode & OTHERS_MAY_READ) !== 0) {
    problems.push(`others may read its key: chmod 600 ${key}`);
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(key)))) problems.push(`${key} is not its key`);
  } catch {
    problems.push(`${key} cannot be read as a key`);
  }
  return problems;
}

function checkFileName(name: string): string {
  if (/^[\w][\w.-]*$/.test(name) && name !== AUTHORITY) return name;
  throw new InvalidArgument(
    `${JSON.stringify(name)} cannot be the name of certificate files: use letters, digits, dots and dashes, and not "${AUTHORITY}"`,
  );
}
