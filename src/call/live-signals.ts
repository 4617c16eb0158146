import { isAbortSignal } from "../checks/index.ts";
import { registerTraveller, ValueRefusal } from "../values/index.ts";
import { onAbort } from "./abort-listeners.ts";
import type { Call } from "./call.ts";

/** A signal among the arguments of a call. */
export interface LiveSignal {
  readonly signal: AbortSignal;
  /** It was aborted before the arguments were encoded, so they already tell the worker. */
  readonly wasAborted: boolean;
}

let isCollecting = false;
let collected: LiveSignal[] | undefined;
let arrived: Map<number, AbortController> | undefined;

/** From here on, the encoder encodes the arguments of a call: signals may be in them. */
export function openSignals(): void {
  isCollecting = true;
  collected = undefined;
}

/** The encoder has encoded the arguments. Returns the signals in them. */
export function closeSignals(): readonly LiveSignal[] | undefined {
  isCollecting = false;
  return collected;
}

/** Aborts the copies of signals at the worker together with the signals among the arguments, until the call has ended. */
export function followSignals(call: Call, signals: readonly LiveSignal[]): void {
  call.signals = signals;
  const undo = signals.flatMap(({ signal, wasAborted }, number) => {
    if (wasAborted) return [];
    // When the call was remade, its new arguments have other signals.
    const follow = (): void => void (call.signals === signals && call.task?.abortSignal(number, signal.reason));
    return [onAbort(signal, follow)];
  });
  call.watch({
    ended: () => {
      for (const stop of undo) stop();
    },
  });
}

/** The controllers of the signals in the arguments that were decoded last, by number. */
export function takeArrivedSignals(): ReadonlyMap<number, AbortController> | undefined {
  const controllers = arrived;
  arrived = undefined;
  return controllers;
}

registerTraveller("abort-signal", {
  is: isAbortSignal,
  take(value, { policy }) {
    if (!isAbortSignal(value)) throw new TypeError("not a signal");
    const { aborted, reason } = value;
    if (!isCollecting || policy?.isLasting === true) {
      if (aborted) return [true, reason, -1];
      throw new ValueRefusal(
        value,
        "an AbortSignal stays live only among the arguments of a call",
        "Pass it as an argument, or as the option `signal`.",
      );
    }
    collected ??= [];
    collected.push({ signal: value, wasAborted: aborted });
    return [aborted, reason, collected.length - 1];
  },
  make() {
    const controller = new AbortController();
    return {
      value: controller.signal,
      complete([aborted, reason, number]) {
        if (aborted === true) controller.abort(reason);
        else if (typeof number === "number") {
          arrived ??= new Map();
          arrived.set(number, controller);
        }
      },
    };
  },
});
