import { WorkerCredentials } from "wool-ts";
import { CertificateAuthority, type IssueOptions } from "../../src/security/index.ts";

const DAY_MS = 86_400_000;

/** When a certificate is valid that is not valid at present. */
export const EXPIRED = { notBefore: new Date(Date.now() - 2 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) };
export const NOT_YET_VALID = { notBefore: new Date(Date.now() + DAY_MS) };

/** A new authority, and what it issues as credentials. */
export class TestAuthority {
  readonly authority = new CertificateAuthority(CertificateAuthority.create());

  /** Credentials of a worker on this machine, unless `options` say otherwise. */
  worker(options: Partial<IssueOptions> & { mutual?: boolean } = {}): WorkerCredentials {
    return this.#credentials({ role: "worker", names: ["localhost", "127.0.0.1"], ...options });
  }

  /** Credentials of a caller. */
  client(options: Partial<IssueOptions> & { mutual?: boolean } = {}): WorkerCredentials {
    return this.#credentials({ role: "client", names: ["caller.example"], ...options });
  }

  /** Credentials of a caller that trusts workers of another authority. */
  clientTrusting(other: TestAuthority): WorkerCredentials {
    return new WorkerCredentials({ ca: other.authority.cert, ...this.authority.issue({ role: "client" }) });
  }

  /** Credentials of a caller that has no certificate and only checks the worker. */
  bare(): WorkerCredentials {
    return new WorkerCredentials({ ca: this.authority.cert, mutual: false });
  }

  #credentials({ mutual = true, ...options }: IssueOptions & { mutual?: boolean }): WorkerCredentials {
    return new WorkerCredentials({ ca: this.authority.cert, ...this.authority.issue(options), mutual });
  }
}
