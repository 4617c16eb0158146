export {
  CertificateAuthority,
  type CertificateRole,
  checkName,
  type IssueOptions,
  type KeyAndCertificate,
  readNames,
  roleOf,
  type Validity,
} from "./certificates/index.ts";
