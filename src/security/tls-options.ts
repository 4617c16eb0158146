import type { PeerCertificate } from "node:tls";
import type { ClientTls, ServerTls } from "../grpc/index.ts";
import { readNames } from "./certificates/index.ts";
import type { CredentialsText } from "./worker-credentials.ts";

/**
 * TLS for a caller with these credentials. `identity`: the name that the worker's certificate must have, if not the
 * host.
 */
export function clientTls(credentials: CredentialsText, identity: string | undefined): ClientTls {
  const { ca, key, cert, mutual } = credentials;
  return {
    ca,
    ...(mutual && key !== undefined && cert !== undefined ? { key, cert } : {}),
    ...(identity === undefined ? {} : identityCheck(identity)),
  };
}

/** TLS for a worker with these credentials. */
export function serverTls({ ca, key, cert, mutual }: CredentialsText): ServerTls {
  return { ca, ...(key === undefined ? {} : { key }), ...(cert === undefined ? {} : { cert }), requestCert: mutual };
}

function identityCheck(identity: string): Pick<ClientTls, "servername" | "checkServerIdentity"> {
  const isUri = identity.includes("://");
  return {
    // TLS can ask only for a host name.
    servername: isUri ? "" : identity,
    checkServerIdentity: (_host, certificate) =>
      isUri
        ? checkUri(identity, certificate)
        : process.getBuiltinModule("node:tls").checkServerIdentity(identity, certificate),
  };
}

function checkUri(identity: string, { subjectaltname }: PeerCertificate): Error | undefined {
  if (readNames(subjectaltname, "uri").includes(identity)) return undefined;
  const names = readNames(subjectaltname);
  const found = names.length === 0 ? "none" : names.join(", ");
  return Object.assign(new Error(`${identity} is not among the names of the certificate (${found})`), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
}
