import type { Call, LiveSignal } from "../call/index.ts";
import type { Dependency } from "../functions/index.ts";
import { dumpWith, type Serializer, ValueEncoder } from "../values/index.ts";
import {
  type Outbox,
  type PayloadPlace,
  RequestField,
  SentDependencies,
  STORE_FROM_BYTES,
  type StepKind,
  writeAbort,
  writeCancel,
  writeCredit,
  writePlainTask,
  writePoolReference,
  writeRoute,
  writeStep,
  writeTask,
} from "../wire/index.ts";

import type { DispatchWindow } from "./dispatch-window.ts";

const NO_BYTES = new Uint8Array(0);
const encoder = new ValueEncoder();

/** Calls whose arguments may be under way in chunks without a place in the window. */
const FREE_TRANSFERS = 4;

/** A value that was encoded before it could be sent, for whichever session that will be. */
export interface EncodedValue {
  readonly bytes: Uint8Array;
  readonly dependencies: readonly Dependency[];
}

/** Encodes a value that has to wait, as it is now. Throws when it cannot travel. */
export function encodeEarly(value: unknown, serializer: Serializer | undefined): EncodedValue {
  if (serializer !== undefined) {
    // Who wrote the serializer may use its buffer again.
    return { bytes: Uint8Array.from(dumpWith(serializer, value, "value")), dependencies: [] };
  }
  const bytes = encoder.keep(encoder.encode(value, "value"));
  return { bytes, dependencies: encoder.dependencies };
}

/** Writes a session's requests, and remembers what the worker has been told of routines, pools and code. */
export class RequestSender {
  readonly #outbox: Outbox;
  readonly #window: DispatchWindow;
  #transfers = 0;
  /** The batch that the last cancellation was written into, and its size then. */
  #cancelBatch = { number: -1, size: 0 };
  readonly #sent = new SentDependencies();
  readonly #routes = new Set<number>();
  readonly #scopes = new Set<number>();

  constructor(outbox: Outbox, window: DispatchWindow) {
    this.#outbox = outbox;
    this.#window = window;
  }

  /** Writes a call, after what the worker must know to run it. */
  task(call: Call): void {
    const { writer } = this.#outbox;
    const { route, scope, extras, id } = call;
    if (!this.#routes.has(route.number)) this.#announceRoute(call);
    if (scope !== undefined && !this.#scopes.has(scope.number)) {
      this.#scopes.add(scope.number);
      writePoolReference(writer, scope.number, scope.pool);
    }
    const { args, sequence } = call;
    const pool = scope?.number ?? 0;
    if (
      !args.isStored &&
      extras === undefined &&
      call.signals === undefined &&
      call.stream === undefined &&
      args.length <= STORE_FROM_BYTES
    ) {
      writePlainTask(writer, id, route.number, args.buffer, args.start, args.end, sequence, pool);
      call.written = true;
      this.#window.sent(1);
      return;
    }
    const needs = this.#sent.announce(writer, RequestField.dependency, extras?.dependencies ?? []);
    this.#placeArgs(call, (place) => {
      if (call.signals !== undefined) this.#repeatAborts(call, call.signals);
      const { timeout, caller, context, prefetch, key } = extras ?? {};
      writeTask(writer, id, route.number, place, sequence, {
        timeout,
        caller,
        context,
        key,
        pool,
        needs,
      });
      call.written = true;
      if (call.inTransfer) this.#transferred(call);
      else this.#window.sent(1);
      if (call.stream !== undefined && call.session !== undefined) {
        writeCredit(writer, id, 1 + (prefetch ?? 0));
        call.stream.opened(call.session, call);
      }
      this.#outbox.schedule(true);
    });
    if (!call.written) this.#transfer(call);
  }

  #placeArgs(call: Call, write: (place: PayloadPlace) => void): void {
    // To a worker that shares no store the arguments go the long way, now and if they are sent again.
    if (this.#outbox.store === undefined) call.args = call.args.intoMemory();
    const { id, args } = call;
    if (args.isStored) write(args.place);
    else this.#outbox.place(id, args.buffer.subarray(args.start, args.end), write);
  }

  /**
   * A call whose arguments are still going out cannot be started: were it counted as waiting, small ones would wait for
   * it. A few are not counted before they are out.
   */
  #transfer(call: Call): void {
    if (this.#transfers >= FREE_TRANSFERS) {
      this.#window.sent(1);
      call.counted = true;
    }
    call.inTransfer = true;
    this.#transfers++;
  }

  #transferred(call: Call): void {
    call.inTransfer = false;
    this.#transfers--;
    if (!call.counted) this.#window.sent(1);
  }

  /** `encoded`: the value, when it has been encoded already. */
  step(call: Call, kind: StepKind, value: unknown, after: number, idle: boolean, encoded?: EncodedValue): void {
    const { writer } = this.#outbox;
    const { id } = call;
    const serializer = call.extras?.serializer;
    if (serializer !== undefined && value === undefined) {
      this.#outbox.inOrder(id, () => {
        writeStep(writer, id, kind, {}, [], after);
        this.#outbox.schedule(idle);
      });
      return;
    }
    const bytes =
      encoded?.bytes ??
      (serializer === undefined ? encoder.encodeInParts(value, "value") : dumpWith(serializer, value, "value"));
    const dependencies = encoded?.dependencies ?? (serializer === undefined ? encoder.dependencies : []);
    const needs = this.#sent.announce(writer, RequestField.dependency, dependencies);
    this.#outbox.place(id, bytes, (place) => {
      writeStep(writer, id, kind, place, needs, after);
      this.#outbox.schedule(idle);
    });
  }

  credit(call: Call, steps: number, idle: boolean): void {
    const { id } = call;
    this.#outbox.inOrder(id, () => {
      writeCredit(this.#outbox.writer, id, steps);
      this.#outbox.schedule(idle);
    });
  }

  /** A signal among the arguments was aborted. One whose task has not been written is told of with that. */
  abort(call: Call, number: number, reason: unknown): void {
    if (!call.written) return;
    this.#writeAbort(call, number, reason, false);
    this.#outbox.schedule(true);
  }

  /** Tells of signals that were aborted since the arguments were encoded, before the task can look at them. */
  #repeatAborts(call: Call, signals: readonly LiveSignal[]): void {
    for (const [number, { signal, wasAborted }] of signals.entries()) {
      if (signal.aborted && !wasAborted) this.#writeAbort(call, number, signal.reason, true);
    }
  }

  #writeAbort(call: Call, number: number, reason: unknown, early: boolean): void {
    const { bytes, needs } = this.#reason(reason);
    writeAbort(this.#outbox.writer, call.id, number, bytes, needs, early);
  }

  /** A reason that cannot travel is left out: that it was aborted can. */
  #reason(reason: unknown): { bytes: Uint8Array; needs: readonly number[] } {
    try {
      const bytes = Uint8Array.from(encoder.encode(reason, "reason"));
      const { writer } = this.#outbox;
      return { bytes, needs: this.#sent.announce(writer, RequestField.dependency, encoder.dependencies) };
    } catch {
      return { bytes: NO_BYTES, needs: [] };
    }
  }

  cancel(call: Call, reason: unknown): void {
    const { writer } = this.#outbox;
    const { bytes, needs } = this.#reason(reason);
    this.#outbox.abandon(call.id);
    if (call.inTransfer) this.#transferred(call);
    this.#openCancelBatch();
    writeCancel(writer, call.id, bytes, needs);
    this.#cancelBatch = { number: this.#outbox.batch, size: writer.size };
    this.#outbox.schedule(true);
  }

  /** Cancellations are the first frames of a message: a worker looks for them there while its task thread is busy. */
  #openCancelBatch(): void {
    const { writer, batch } = this.#outbox;
    if (writer.size === 0) return;
    const { number, size } = this.#cancelBatch;
    if (number !== batch || size !== writer.size) this.#outbox.flush();
  }

  #announceRoute(call: Call): void {
    const { route } = call;
    const { writer } = this.#outbox;
    this.#routes.delete(route.replaces);
    this.#routes.add(route.number);
    const needs = this.#sent.announce(writer, RequestField.dependency, route.dependencies);
    writeRoute(writer, { ...route, needs });
  }
}
