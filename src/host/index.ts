export { availableCores } from "./available-cores.ts";
export { cleanUpAtExit } from "./exit-cleanup.ts";
export { PayloadFiles, payloadFiles } from "./payload-files.ts";
export { PoolDirectory, type PoolDirectoryOptions } from "./pool-directory.ts";
export {
  areProcessesAlive,
  currentProcess,
  identifyProcess,
  isProcessAlive,
  isProcessIdentity,
  type ProcessIdentity,
  processStartTime,
} from "./process-identity.ts";
export {
  checkPrivateDirectory,
  ensurePrivateDirectory,
  makePrivateDirectory,
  runtimeDirectory,
  uniqueName,
} from "./runtime-directory.ts";
