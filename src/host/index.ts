export { availableCores } from "./available-cores.ts";
export { cleanUpAtExit } from "./exit-cleanup.ts";
export { payloadFiles } from "./payload-files.ts";
export { PoolDirectory } from "./pool-directory.ts";
export {
  areProcessesAlive,
  currentProcess,
  identifyProcess,
  isProcessIdentity,
  type ProcessIdentity,
} from "./process-identity.ts";
export {
  checkPrivateDirectory,
  ensurePrivateDirectory,
  makePrivateDirectory,
  runtimeDirectory,
  uniqueName,
} from "./runtime-directory.ts";
