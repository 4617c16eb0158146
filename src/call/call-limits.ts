import { TaskTimeout } from "../errors.ts";
import type { CallOptions } from "../routine/index.ts";
import { Timer } from "../time/index.ts";
import { onAbort } from "./abort-listeners.ts";
import type { Call } from "./call.ts";
import type { CallWatcher } from "./call-parties.ts";

/**
 * Cancels a call when its signal aborts or a time limit is reached, whichever is first: the caller is told at once, and
 * the worker is told to stop.
 */
export function limitCall(call: Call, { signal, timeout, dispatchTimeout }: CallOptions): void {
  if (signal !== undefined) {
    const stopListening = onAbort(signal, () => call.cancel(signal.reason));
    call.watch({ ended: stopListening });
  }
  // A limit of 0 is over at once. A timer would let calls through that take less than a millisecond.
  if (dispatchTimeout === 0) call.cancel(notAccepted(call, dispatchTimeout));
  else if (isTimed(dispatchTimeout)) call.watch(new DispatchLimit(call, dispatchTimeout));
  if (timeout === 0) call.cancel(notEnded(call, timeout));
  else if (isTimed(timeout)) call.watch(new ExecutionLimit(timeout));
}

function notAccepted({ route }: Call, ms: number): TaskTimeout {
  return new TaskTimeout(
    `${route.name} was accepted by no worker within its dispatchTimeout of ${ms} ms: ` +
      "the workers are busy or cannot be reached",
  );
}

function notEnded({ route }: Call, ms: number): TaskTimeout {
  return new TaskTimeout(`${route.name} did not end within its timeout of ${ms} ms`);
}

/** Bounds the time until a worker has started a call. */
class DispatchLimit implements CallWatcher {
  readonly #timer: Timer;

  constructor(call: Call, ms: number) {
    this.#timer = new Timer(ms, () => call.cancel(notAccepted(call, ms)));
  }

  started(): void {
    this.#timer.clear();
  }

  ended(): void {
    this.#timer.clear();
  }
}

/** Bounds the time that a call is at a worker. */
class ExecutionLimit implements CallWatcher {
  readonly #ms: number;
  #timer: Timer | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  sent(call: Call): void {
    this.#timer?.clear();
    this.#timer = new Timer(this.#ms, () => call.cancel(notEnded(call, this.#ms)));
  }

  ended(): void {
    this.#timer?.clear();
  }
}

function isTimed(ms: number | undefined): ms is number {
  return ms !== undefined && ms !== Number.POSITIVE_INFINITY;
}
