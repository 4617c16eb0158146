/** What is wrong when a TLS handshake fails, by the code of the error, and what to do about it. */
const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the worker's certificate has expired. Renew it; the worker takes a new one without a restart",
  CERT_NOT_YET_VALID:
    "the worker's certificate is not valid yet. Check the clocks of both machines, and when the certificate begins",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the worker's certificate is of another authority. Give the authority that issued it as ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the worker's certificate is of another authority. Give the authority that issued it as ca",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "the worker's certificate is signed by itself. Give it as ca, or use one of an authority",
  SELF_SIGNED_CERT_IN_CHAIN:
    "the worker's certificate is of another authority. Give the authority that issued it as ca",
  CERT_SIGNATURE_FAILURE: "the signature of the worker's certificate is wrong. Give the authority that issued it as ca",
  CERT_REVOKED: "the worker's certificate was revoked. Issue another one",
  INVALID_PURPOSE: "the worker's certificate is not one for servers. Issue one with the role of a worker",
  ERR_TLS_CERT_ALTNAME_INVALID: "the worker's certificate is for another name",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "the worker does not speak TLS. Give it credentials too, or use it without credentials on this side",
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    "the worker does not speak TLS. Give it credentials too, or use it without credentials on this side",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "the worker demands a certificate, and none was shown. Give credentials with key and cert that are mutual",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA:
    "the worker does not know the authority of this side's certificate. Use one of its ca",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "this side's certificate has expired. Renew it",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "the worker refused this side's certificate. Use one of its ca",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "the worker speaks none of the versions TLS 1.2 and 1.3. Update it",
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "the server does not speak HTTP/2. Is this the port of a worker?",
};

/** What is wrong with a certificate that a client showed, by the code of the verification. */
const CLIENT_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the client's certificate has expired. Renew it",
  CERT_NOT_YET_VALID: "the client's certificate is not valid yet. Check the clocks of both machines",
  UNABLE_TO_GET_ISSUER_CERT: "the client showed no certificate. Give it credentials with key and cert that are mutual",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the client's certificate is of another authority. Use one of the worker's ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the client's certificate is of another authority. Use one of the worker's ca",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the client's certificate is signed by itself. Use one of the worker's ca",
  SELF_SIGNED_CERT_IN_CHAIN: "the client's certificate is of another authority. Use one of the worker's ca",
  INVALID_PURPOSE: "the client's certificate is not one for clients. Issue one with the role of a client",
};

/** A failed handshake in plain words; nothing for an error that is not known. */
export function describeTlsFault(cause: Error): string | undefined {
  const code = "code" in cause ? cause.code : undefined;
  const fault = typeof code === "string" ? FAULTS[code] : undefined;
  if (fault === undefined || code !== "ERR_TLS_CERT_ALTNAME_INVALID") return fault;
  // The error of Node.js lists the names that the certificate has.
  return `${fault}: ${cause.message}. Issue one with that name, or give the provider of the credentials an identity that it has`;
}

/** Why a server turns a client's certificate down, in plain words. */
export function describeClientFault(code: string): string {
  return CLIENT_FAULTS[code] ?? `the client's certificate was turned down (${code}). Use one of the worker's ca`;
}
