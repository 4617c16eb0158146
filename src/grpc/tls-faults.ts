/** The cause and the fix of a failed TLS handshake, by the code of the error. */
const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the worker's certificate has expired. Renew it; the worker loads a new one without a restart",
  CERT_NOT_YET_VALID:
    "the worker's certificate is not valid yet. Check the clocks of both machines and the start date of the certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the worker's certificate is from another authority. Give the authority that issued it as ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the worker's certificate is from another authority. Give the authority that issued it as ca",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the worker's certificate is self-signed. Give it as ca, or use one from an authority",
  SELF_SIGNED_CERT_IN_CHAIN:
    "the worker's certificate is from another authority. Give the authority that issued it as ca",
  CERT_SIGNATURE_FAILURE: "the signature of the worker's certificate is wrong. Give the authority that issued it as ca",
  CERT_REVOKED: "the worker's certificate was revoked. Issue another one",
  INVALID_PURPOSE: "the worker's certificate is not for servers. Issue one with the role of a worker",
  ERR_TLS_CERT_ALTNAME_INVALID: "the worker's certificate is for another name",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "the worker does not speak TLS. Give it credentials too, or use it without credentials on this side",
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    "the worker does not speak TLS. Give it credentials too, or use it without credentials on this side",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "the worker requires a certificate, and none was shown. Give credentials with key and cert that are mutual",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA:
    "the worker does not know the authority of this side's certificate. Use one from its ca",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "this side's certificate has expired. Renew it",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "the worker refused this side's certificate. Use one from its ca",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "the worker speaks none of the versions TLS 1.2 and 1.3. Update it",
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "the server does not speak HTTP/2. Is this the port of a worker?",
};

/** The fault of a client's certificate and its fix, by the code of the verification. */
const CLIENT_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the client's certificate has expired. Renew it",
  CERT_NOT_YET_VALID: "the client's certificate is not valid yet. Check the clocks of both machines",
  UNABLE_TO_GET_ISSUER_CERT: "the client showed no certificate. Give it credentials with key and cert that are mutual",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the client's certificate is from another authority. Use one from the worker's ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the client's certificate is from another authority. Use one from the worker's ca",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the client's certificate is self-signed. Use one from the worker's ca",
  SELF_SIGNED_CERT_IN_CHAIN: "the client's certificate is from another authority. Use one from the worker's ca",
  INVALID_PURPOSE: "the client's certificate is not for clients. Issue one with the role of a client",
};

/** Explains a failed handshake; undefined for an unknown error. */
export function describeTlsFault(cause: Error): string | undefined {
  const code = "code" in cause ? cause.code : undefined;
  const fault = typeof code === "string" ? FAULTS[code] : undefined;
  if (fault === undefined || code !== "ERR_TLS_CERT_ALTNAME_INVALID") return fault;
  // The error of Node.js lists the names in the certificate.
  return `${fault}: ${cause.message}. Issue one with that name, or give the provider of the credentials an identity that it has`;
}

/** Explains why a server refuses a client's certificate. */
export function describeClientFault(code: string): string {
  return CLIENT_FAULTS[code] ?? `the client's certificate was refused (${code}). Use one from the worker's ca`;
}
