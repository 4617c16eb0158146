export {
  CertificateAuthority,
  CertificateFolder,
  type CertificateReport,
  describeCertificate,
  type IssueOptions,
  type KeyAndCertificate,
  type Validity,
} from "./certificates/index.ts";
export { describePeer, type PeerIdentity, peerIdentity } from "./peer-identity.ts";
export { clientTls, serverTls } from "./tls-options.ts";
export {
  type CredentialsFiles,
  type CredentialsMaterial,
  type CredentialsText,
  credentialsText,
  type PEM,
  WorkerCredentials,
} from "./worker-credentials.ts";
export {
  type CredentialsLike,
  credentialsProblem,
  type ProviderOptions,
  providerOf,
  WorkerCredentialsProvider,
} from "./worker-credentials-provider.ts";
