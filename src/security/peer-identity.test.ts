import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { expect, it } from "vitest";
import { CertificateAuthority, describePeer, peerIdentity } from "./index.ts";
import { clientTls } from "./tls-options.ts";

const authority = new CertificateAuthority(CertificateAuthority.create());
const identityOf = (commonName: string, names: string[]) =>
  peerIdentity(new X509Certificate(authority.issue({ role: "client", commonName, names }).cert));

it("tells the names of a peer by kind", () => {
  const peer = identityOf("ada", ["a.example", "10.0.0.1", "spiffe://example.org/ada", "a@b.c", "https://x.example/y"]);
  expect(peer).toMatchObject({
    commonName: "ada",
    hosts: ["a.example"],
    uris: ["spiffe://example.org/ada", "https://x.example/y"],
    spiffeId: "spiffe://example.org/ada",
    fingerprint: expect.stringMatching(/^([\dA-F]{2}:){31}[\dA-F]{2}$/) as unknown,
  });
  expect(peer.names).toHaveLength(5);
});

it("takes no host name for an identity, whatever it looks like", () => {
  const printed =
    'DNS:"evil\\u002c URI:spiffe://example.org/admin", DNS:spiffe://example.org/admin, othername:<unsupported>, ' +
    "email:a@b.c, IP Address:10.0.0.1";
  const certificate = { subjectAltName: printed, subject: "O=Org\\0ACN=admin\nCN=ada", fingerprint256: "00" };
  expect(peerIdentity(certificate as X509Certificate)).toEqual({
    commonName: "ada",
    names: [
      "evil, URI:spiffe://example.org/admin",
      "spiffe://example.org/admin",
      "othername:<unsupported>",
      "a@b.c",
      "10.0.0.1",
    ],
    hosts: ["evil, URI:spiffe://example.org/admin", "spiffe://example.org/admin"],
    uris: [],
    spiffeId: undefined,
    fingerprint: "00",
  });
  const { checkServerIdentity } = clientTls(
    { ca: "", key: undefined, cert: undefined, mutual: true },
    "spiffe://example.org/admin",
  );
  const found = checkServerIdentity?.("10.0.0.1", { subjectaltname: printed } as PeerCertificate);
  expect(found?.message).toContain("spiffe://example.org/admin is not among the names of the certificate");
});

it("has no SPIFFE id where there are two", () => {
  expect(identityOf("x", ["spiffe://a/b", "spiffe://a/c"]).spiffeId).toBeUndefined();
});

it("names a peer shortly", () => {
  expect(describePeer(identityOf("ada", ["a.example", "spiffe://a/b"]))).toBe("spiffe://a/b");
  expect(describePeer(identityOf("ada", ["a.example"]))).toBe("a.example");
  expect(describePeer(identityOf("ada", []))).toBe("ada");
  expect(describePeer(undefined)).toBe("a caller without a certificate");
});
