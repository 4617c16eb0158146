import { onAbort } from "./abort-listeners.ts";
import { beforeEnd } from "./before-end.ts";
import type { Call } from "./call.ts";
import type { LiveSignal } from "./live-signals.ts";

/** Has the signals among the arguments of a call followed by those at its worker for as long as the call lasts. */
export function watchSignals(call: Call, signals: readonly LiveSignal[]): void {
  call.signals = signals;
  const undo = signals.flatMap(({ signal, wasAborted }, number) =>
    wasAborted ? [] : [onAbort(signal, () => call.session?.abort(call, number, signal.reason))],
  );
  beforeEnd(call, () => {
    for (const stop of undo) stop();
  });
}
