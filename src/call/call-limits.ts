import { TaskTimeout } from "../errors.ts";
import type { CallOptions } from "../routine/index.ts";
import { onAbort } from "./abort-listeners.ts";
import { beforeEnd } from "./before-end.ts";
import type { Call } from "./call.ts";
import { RemoteFailure } from "./remote-failure.ts";

/** Takes back a call that has been handed to no worker. */
export type Withdraw = (call: Call) => void;

/** Longest delay that a timer takes. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Puts a call under its signal and its time limits. Whatever happens first ends it: the caller is told at once, and
 * the worker to stop.
 */
export function controlCall(call: Call, options: CallOptions, withdraw: Withdraw): void {
  const { signal, timeout, dispatchTimeout } = options;
  let executing: NodeJS.Timeout | undefined;
  let dispatching: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  const { reject } = call;
  const release = (): void => {
    clearTimeout(executing);
    clearTimeout(dispatching);
    stopListening?.();
  };
  const end = (reason: unknown): void => {
    release();
    if (call.session !== undefined) call.session.cancel(call, reason);
    else if (call.state === "waiting") withdraw(call);
    call.attempts?.ended("cancelled");
    reject(new RemoteFailure(reason));
  };
  beforeEnd(call, release);
  if (signal !== undefined) stopListening = onAbort(signal, () => end(signal.reason));
  if (dispatchTimeout !== undefined && dispatchTimeout <= MAX_TIMER_MS) {
    dispatching = setTimeout(() => {
      end(
        new TaskTimeout(
          `${call.route.name} was accepted by no worker within its dispatchTimeout of ${dispatchTimeout} ms: ` +
            "the workers are busy or cannot be reached",
        ),
      );
    }, dispatchTimeout);
  }
  call.onStarted = () => clearTimeout(dispatching);
  if (timeout !== undefined && timeout <= MAX_TIMER_MS) {
    call.onHanded = () => {
      clearTimeout(executing);
      executing = setTimeout(
        () => end(new TaskTimeout(`${call.route.name} did not end within its timeout of ${timeout} ms`)),
        timeout,
      );
    };
  }
}
