import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CertificateAuthority, type KeyAndCertificate, readNames, roleOf } from "./index.ts";

const authority = new CertificateAuthority(CertificateAuthority.create("test authority"));
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

describe("CertificateAuthority", () => {
  it("is an authority for workers and clients, and for no further authorities", () => {
    const own = new X509Certificate(authority.cert);
    expect(own.subject).toBe("CN=test authority");
    expect([own.ca, roleOf(own), own.verify(own.publicKey)]).toEqual([true, "authority", true]);
  });

  it.each(["worker", "client"] as const)("issues certificates of a %s with its names", (role) => {
    const names = [
      "localhost",
      "*.example.org",
      "127.0.0.1",
      "::1",
      "2001:db8::7:0:1",
      "spiffe://example.org/w/1",
      "a@b.c",
    ];
    const { cert, key } = authority.issue({ role, names });
    const certificate = new X509Certificate(cert);
    expect(certificate.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
    expect([certificate.ca, roleOf(certificate), certificate.subject]).toEqual([false, role, "CN=localhost"]);
    expect(readNames(certificate.subjectAltName)).toEqual([
      ...names.slice(0, 3),
      "0:0:0:0:0:0:0:1",
      "2001:DB8:0:0:0:7:0:1",
      ...names.slice(5),
    ]);
    expect(key).toContain("BEGIN PRIVATE KEY");
  });

  it("issues certificates from five minutes ago for as many days as it is told", () => {
    const { validFrom, validTo } = new X509Certificate(authority.issue({ role: "client", days: 10 }).cert);
    expect((Date.now() - Date.parse(validFrom)) / 60_000).toBeCloseTo(5, 0);
    expect((Date.parse(validTo) - Date.now()) / 86_400_000).toBeCloseTo(10, 1);
  });

  it("writes moments before and after 2050", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("1990-01-01"), max: new Date("2199-01-01"), noInvalidDate: true }),
        (notAfter) => {
          const { validTo } = new X509Certificate(authority.issue({ role: "client", notAfter }).cert);
          expect(Date.parse(validTo)).toBe(Math.floor(notAfter.getTime() / 1000) * 1000);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("renews a certificate with its key and its names", () => {
    const before = authority.issue({ role: "worker", commonName: "w", names: ["w.example.org", "10.0.0.1"], days: 1 });
    const [old, renewed] = [new X509Certificate(before.cert), new X509Certificate(authority.renew(before.cert))];
    expect(renewed.publicKey.equals(old.publicKey)).toBe(true);
    expect([renewed.subject, renewed.subjectAltName, roleOf(renewed)]).toEqual([
      old.subject,
      old.subjectAltName,
      "worker",
    ]);
    expect(Date.parse(renewed.validTo)).toBeGreaterThan(Date.parse(old.validTo));
    expect(renewed.serialNumber).not.toBe(old.serialNumber);
  });

  it("refuses to renew what another authority issued, and itself", () => {
    const other = new CertificateAuthority(CertificateAuthority.create("test authority"));
    for (const cert of [other.issue({ role: "client" }).cert, authority.cert]) {
      expect(() => authority.renew(cert)).toThrow("was not issued by this authority");
    }
  });

  it.each(["", "two words", "a,b", "http://", "ä.example"])("refuses %j as a name", (name) => {
    expect(() => authority.issue({ role: "worker", names: [name] })).toThrow("cannot be a name in a certificate");
  });

  it("is not made of a certificate and a key that do not belong together, or are of no authority", () => {
    const [own, other] = [CertificateAuthority.create(), CertificateAuthority.create()];
    expect(() => new CertificateAuthority({ cert: own.cert, key: other.key })).toThrow("does not belong");
    expect(() => new CertificateAuthority(authority.issue({ role: "client" }))).toThrow("is not an authority");
  });

  it.skipIf(!hasOpenssl)("is accepted by openssl", () => {
    const directory = mkdtempSync(join(tmpdir(), "wool-certs-"));
    try {
      const write = (name: string, { cert }: Pick<KeyAndCertificate, "cert">): string => {
        writeFileSync(join(directory, name), cert);
        return join(directory, name);
      };
      const ca = write("ca.pem", authority);
      for (const [role, purpose] of [
        ["worker", "sslserver"],
        ["worker", "sslclient"],
        ["client", "sslclient"],
      ] as const) {
        const leaf = write("leaf.pem", authority.issue({ role, names: ["w.example.org", "fe80::1"] }));
        const verified = spawnSync("openssl", ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", ca, leaf]);
        expect([verified.status, String(verified.stderr)]).toEqual([0, ""]);
      }
      const client = write("leaf.pem", authority.issue({ role: "client", names: ["w.example.org"] }));
      const refused = spawnSync("openssl", ["verify", "-purpose", "sslserver", "-CAfile", ca, client]);
      expect(refused.status).not.toBe(0);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
