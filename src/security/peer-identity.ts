import type { X509Certificate } from "node:crypto";
import { readNames } from "./certificates/index.ts";

/** The identity of the other side of a connection, as its certificate says. */
export interface PeerIdentity {
  /** The name that people see, if the certificate has one. */
  readonly commonName: string | undefined;
  /** Every name in the certificate: host names, addresses, URIs. */
  readonly names: readonly string[];
  /** The host names among them. */
  readonly hosts: readonly string[];
  /** The URIs among them. */
  readonly uris: readonly string[];
  /** The SPIFFE id, if there is exactly one, as the standard requires. */
  readonly spiffeId: string | undefined;
  /** The SHA-256 fingerprint of the certificate. */
  readonly fingerprint: string;
}

/** Reads the identity of a peer from its certificate. */
export function peerIdentity(certificate: X509Certificate): PeerIdentity {
  const { subjectAltName } = certificate;
  const uris = readNames(subjectAltName, "uri");
  const spiffeIds = uris.filter((uri) => uri.startsWith("spiffe://"));
  return {
    commonName: /^CN=(.*)$/m.exec(certificate.subject)?.[1],
    names: readNames(subjectAltName),
    hosts: readNames(subjectAltName, "host"),
    uris,
    spiffeId: spiffeIds.length === 1 ? spiffeIds[0] : undefined,
    fingerprint: certificate.fingerprint256,
  };
}

/** A peer as messages name it. */
export function describePeer(peer: PeerIdentity | undefined): string {
  if (peer === undefined) return "a caller without a certificate";
  return peer.spiffeId ?? peer.names[0] ?? peer.commonName ?? `the certificate ${peer.fingerprint}`;
}
