export { readNames } from "./alternative-names.ts";
export {
  CertificateAuthority,
  type IssueOptions,
  type KeyAndCertificate,
  type Validity,
} from "./certificate-authority.ts";
export { CertificateFolder, type CertificateReport, describeCertificate } from "./certificate-folder.ts";
export { roleOf } from "./issue-certificate.ts";
