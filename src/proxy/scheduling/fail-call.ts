import { type Call, RemoteFailure } from "../../call/index.ts";
import { NoWorkersAvailable, WorkerLost } from "../../errors.ts";

/** Ends a call that waits, with an error. */
export function failCall(call: Call, error: unknown): void {
  endCall(call);
  call.reject(new RemoteFailure(error));
}

/** Ends a call that waits, and lets go of its arguments. The caller is not told. */
export function endCall(call: Call): void {
  call.state = "ended";
  call.place = undefined;
  call.args.drop();
}

/** The error of a call that no worker took. */
export function noWorkers(reason: string, errors: readonly Error[]): NoWorkersAvailable {
  const details = errors.map((error) => `\n  - ${error.message}`).join("");
  return new NoWorkersAvailable(`no worker took the call: ${reason}${details}`, errors);
}

/** What a caller is told when there are no workers, or no more. */
export function nobodyLeft({ refusals, lostBefore }: Call): Error {
  if (refusals === undefined) {
    return noWorkers("no workers are known", lostBefore === undefined ? [] : [lostBefore]);
  }
  return noWorkers("every worker refused it", [...refusals.values()]);
}

/** What a caller is told of a call that was lost with its worker. */
export function lostError(call: Call, error: Error): Error {
  if (!(error instanceof WorkerLost)) return error;
  return new WorkerLost(
    `${error.message}; ${call.route.name} had been handed to it and may or may not have run ` +
      "(a routine with { idempotent: true } is tried once more elsewhere)",
  );
}
