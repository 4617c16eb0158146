export { type CodeSite, type FreeName, siteAt, siteOf } from "./code-site.ts";
export {
  type BoundView,
  type FunctionLocation,
  type FunctionView,
  readVariable,
  type ScopeView,
  UNINITIALISED,
  viewBoundFunctions,
  viewFunction,
} from "./function-views.ts";
export { type PrivateField, viewPrivates, viewPromise } from "./hidden-state.ts";
export { EngineClosed, foreseeObjects, hasDebugger } from "./inspector-session.ts";
export { IS_MAIN_REALM, intrinsicAt, intrinsicPathOf, isStandardGlobal, loadedByNode } from "./intrinsics.ts";
export {
  adoptLiveVariable,
  evaluateInside,
  isQuicklyEntered,
  knownLiveVariables,
  liveVariables,
  outerReceiver,
} from "./live-variables.ts";
export { isDebuggerAttached } from "./paused-function.ts";
export { type PrivateMember, privateMembers, privateMembersAt } from "./private-members.ts";
export { mayBeRunning } from "./running-code.ts";
export { listedUrls, loadedUrls, type Script, scriptFrom, scriptOf, scriptUrl } from "./scripts.ts";
export { positionOf, type SourceFile, sourceFileOf } from "./source-file.ts";
export {
  afterCapture,
  asOneCapture,
  beginCapture,
  captureNumber,
  endCapture,
  markVariable,
  unmarked,
  type VariableAccess,
} from "./variable-marks.ts";
