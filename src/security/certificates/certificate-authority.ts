import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { InvalidArgument } from "../../errors.ts";
import { checkName, readNames } from "./alternative-names.ts";
import { type CertificateRole, issueCertificate, roleOf } from "./issue-certificate.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How far in the past a certificate begins, in milliseconds, because clocks differ. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;

/** A private key and its certificate, as PEM. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** When a certificate is valid. */
export interface Validity {
  /** Days from now. Default: 3,650 for an authority, 365 for anything else. */
  readonly days?: number;
  /** The first moment. Default: five minutes ago, because clocks differ. */
  readonly notBefore?: Date;
  /** The last moment; instead of `days`. */
  readonly notAfter?: Date;
}

/** The content of a certificate that an authority issues. */
export interface IssueOptions extends Validity {
  readonly role: Exclude<CertificateRole, "authority">;
  /** The name that people see. Default: the first of `names`, or the role. */
  readonly commonName?: string;
  /** Host names, addresses and URIs that the holder proves to be. */
  readonly names?: readonly string[];
}

/**
 * Issues certificates for the workers and callers of one system. It exists only in memory. Anyone who has its key
 * decides who gets access.
 */
export class CertificateAuthority {
  /** The certificate of the authority itself, as PEM: the `ca` of credentials. */
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #certificate: X509Certificate;

  /**
   * Uses an existing authority. Throws `InvalidArgument` when the certificate is not an authority's, or the key does
   * not belong to it.
   */
  constructor({ key, cert }: KeyAndCertificate) {
    this.cert = cert;
    this.#key = createPrivateKey(key);
    this.#certificate = new X509Certificate(cert);
    if (!this.#certificate.ca) {
      throw new InvalidArgument("the certificate is not an authority's: give the certificate of the authority itself");
    }
    if (!this.#certificate.checkPrivateKey(this.#key)) {
      throw new InvalidArgument(
        "the key does not belong to the certificate of the authority: give the key and the certificate of the same authority",
      );
    }
    if (this.#key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
      throw new InvalidArgument(
        "the key of the authority is not on the curve P-256, and only such keys can sign certificates here: " +
          "use an authority made by `wool certs init`, or issue certificates with the tool that made this one",
      );
    }
  }

  /** Makes a new authority. `commonName`: the name that people see. */
  static create(commonName = "Wool development authority", validity: Validity = {}): KeyAndCertificate {
    const { privateKey, publicKey } = newKeys();
    const cert = issueCertificate(
      { role: "authority", commonName, names: [], publicKey, ...period(validity, 3650) },
      { privateKey },
    );
    return { key: pem(privateKey), cert };
  }

  /** Makes a key and a certificate for it. Throws `InvalidArgument` for a name that cannot be in a certificate. */
  issue(options: IssueOptions): KeyAndCertificate {
    const { role, names = [], commonName = names[0] ?? role } = options;
    for (const name of names) checkName(name);
    const { privateKey, publicKey } = newKeys();
    return { key: pem(privateKey), cert: this.#sign({ role, names, commonName }, publicKey, options) };
  }

  /**
   * Makes a new certificate with the names and the key of an existing one, so that only one file changes. Throws
   * `InvalidArgument` for a certificate that this authority did not issue.
   */
  renew(cert: string, validity: Validity = {}): string {
    const old = new X509Certificate(cert);
    const role = roleOf(old);
    if (role === "authority" || !old.checkIssued(this.#certificate) || !old.verify(this.#certificate.publicKey)) {
      throw new InvalidArgument(
        "the certificate was not issued by this authority: renew it with the authority that issued it",
      );
    }
    const commonName = /^CN=(.*)$/m.exec(old.subject)?.[1] ?? role;
    return this.#sign({ role, names: readNames(old.subjectAltName), commonName }, old.publicKey, validity);
  }

  #sign(
    content: { role: CertificateRole; names: readonly string[]; commonName: string },
    publicKey: KeyObject,
    validity: Validity,
  ): string {
    return issueCertificate(
      { ...content, publicKey, ...period(validity, 365) },
      { privateKey: this.#key, certificate: this.#certificate },
    );
  }
}

function newKeys(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function period({ days, notBefore, notAfter }: Validity, defaultDays: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return {
    notBefore: notBefore ?? new Date(now - CLOCK_SKEW_MS),
    notAfter: notAfter ?? new Date(now + (days ?? defaultDays) * DAY_MS),
  };
}
