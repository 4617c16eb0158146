import type { Call } from "../connection/call.ts";
import { RemoteFailure } from "../connection/remote-failure.ts";
import { NoWorkersAvailable } from "../errors.ts";
import { dropPayloadFile } from "../security/index.ts";

/** Ends a call that waits, with an error. */
export function failCall(call: Call, error: unknown): void {
  endCall(call);
  call.reject(new RemoteFailure(error));
}

/** Ends a call that waits, and lets go of its arguments. The caller is not told. */
export function endCall(call: Call): void {
  call.state = "ended";
  call.place = undefined;
  if (call.file !== undefined) dropPayloadFile(call.file, call.argsEnd);
}

/** The error of a call that no worker took. */
export function noWorkers(reason: string, errors: readonly Error[]): NoWorkersAvailable {
  const details = errors.map((error) => `\n  - ${error.message}`).join("");
  return new NoWorkersAvailable(`no worker took the call: ${reason}${details}`, errors);
}
