import type { Dependency } from "../functions/index.ts";
import { copyPayload, dumpWith, type Serializer, ValueEncoder, type WeakCollection } from "../values/index.ts";
import type { StepKind } from "../wire/index.ts";

const encoder = new ValueEncoder();

/** A call at its worker, and the messages that can be sent about it. */
export interface RemoteTask {
  /** Whether the worker has been sent all of it, so that steps may follow. */
  readonly isWritten: boolean;
  /** The caller does not wait any more. */
  cancel(reason: unknown): void;
  /** A signal among the arguments was aborted. */
  abortSignal(number: number, reason: unknown): void;
  /**
   * Advances a generator with a value, an error or a request to return. Throws when the value cannot travel.
   * `encoded`: the value, when it has been encoded already.
   */
  step(kind: StepKind, value: unknown, after: number, encoded?: EarlyValue): void;
  /** Lets a generator run `steps` more plain steps. */
  credit(steps: number): void;
  /** The caller of a stream waits for its next step, or does not wait at present. */
  setWaitedFor(isWaitedFor: boolean): void;
}

/** A value that was encoded before it could be sent, for any session. */
export interface EarlyValue {
  readonly bytes: Uint8Array;
  readonly dependencies: readonly Dependency[];
}

/** Encodes a value that has to wait, as it is now. Throws when it cannot travel. */
export function encodeEarly(
  value: unknown,
  serializer: Serializer | undefined,
  weak: readonly WeakCollection[] | undefined,
): EarlyValue {
  if (serializer !== undefined) {
    // The serializer may use its buffer again.
    return { bytes: Uint8Array.from(dumpWith(serializer, value, "value")), dependencies: [] };
  }
  const bytes = copyPayload(encoder.encodeInParts(value, "value", weak));
  return { bytes, dependencies: encoder.takeDependencies() };
}
