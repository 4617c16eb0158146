import type { Call, EarlyValue, LiveSignal, PoolReference } from "../call/index.ts";
import type { Dependency } from "../functions/index.ts";
import { contentOf, onContentGone, type SharedContent } from "../sharing/index.ts";
import { dumpWith, serializerOfThrown, ValueEncoder } from "../values/index.ts";
import {
  type Outbox,
  type PayloadPlace,
  RequestField,
  SentDependencies,
  SHARED_CHUNKS,
  STORE_FROM_BYTES,
  StepKind,
  writeAbort,
  writeCancel,
  writeCredit,
  writeDropped,
  writePlainTask,
  writePoolReference,
  writeRoute,
  writeShared,
  writeStep,
  writeTask,
} from "../wire/index.ts";

import type { DispatchWindow } from "./dispatch-window.ts";
import type { SentTask } from "./sent-task.ts";

const NO_BYTES = new Uint8Array(0);
const encoder = new ValueEncoder();

/**
 * How many calls may send their arguments in chunks without counting in the window. Beside 8 calls with 8 MB each to one
 * worker on TCP, small calls took 154 ms in the median, 222 with none, and 0.6 with 64. But that many calls could not go to
 * another worker any more when this one turns out to be slow.
 */
const FREE_TRANSFERS = 4;

/** Writes a session's requests, and remembers what the worker has been told of routines, pools and code. */
export class RequestSender {
  readonly #outbox: Outbox;
  readonly #window: DispatchWindow;
  /** Whether the worker reads the encoding of this runtime, in which reasons of cancellations travel. */
  readsReasons = true;
  #transfers = 0;
  /** The batch that the last cancellation was written into, and its size then. */
  #cancelBatch = { number: -1, size: 0 };
  readonly #sent = new SentDependencies();
  /** Set once a shared value was announced. */
  #unwatch: (() => void) | undefined;
  readonly #routes = new Set<number>();
  /** The version of each pool that the worker knows, by the number of the pool. */
  readonly #pools = new Map<number, number>();

  constructor(outbox: Outbox, window: DispatchWindow) {
    this.#outbox = outbox;
    this.#window = window;
  }

  /** Writes a call, after what the worker must know to run it. */
  task(task: SentTask, call: Call): void {
    const { writer } = this.#outbox;
    const { id } = task;
    const { route, pool, extras } = call;
    if (!this.#routes.has(route.number)) this.#announceRoute(call);
    if (pool !== undefined && this.#pools.get(pool.number) !== pool.version) this.#announcePool(pool);
    const { argsBuffer: buffer, argsStart, argsEnd, sequence } = call;
    const poolNumber = pool?.number ?? 0;
    if (call.pack !== undefined) {
      const { args } = call;
      const place = { bytes: args.buffer.subarray(args.start, args.end) };
      writeTask(writer, id, route.number, place, sequence, { pool: poolNumber, items: call.pack.lengths });
      this.#written(task);
      return;
    }
    if (
      buffer !== undefined &&
      extras === undefined &&
      call.signals === undefined &&
      call.stream === undefined &&
      argsEnd - argsStart <= STORE_FROM_BYTES
    ) {
      writePlainTask(writer, id, route.number, buffer, argsStart, argsEnd, sequence, poolNumber);
      this.#written(task);
      return;
    }
    const needs = this.#announce(extras?.dependencies ?? []);
    this.#placeArgs(id, call, (place) => {
      if (call.signals !== undefined) this.#repeatAborts(id, call.signals);
      const { timeout, caller, context, prefetch, key } = extras ?? {};
      writeTask(writer, id, route.number, place, sequence, {
        timeout,
        caller,
        context,
        key,
        pool: poolNumber,
        needs,
      });
      task.isWritten = true;
      task.message = this.#outbox.nextMessage;
      if (task.isInTransfer) this.#transferred(task);
      else this.#window.sent(1);
      if (!("file" in place)) this.#window.load(task, argsEnd - argsStart);
      if (call.stream !== undefined) {
        writeCredit(writer, id, 1 + (prefetch ?? 0));
        call.stream.opened();
      }
      this.#outbox.schedule(true);
    });
    if (!task.isWritten) this.#transfer(task);
  }

  #written(task: SentTask): void {
    task.isWritten = true;
    task.message = this.#outbox.nextMessage;
    this.#window.sent(task.size);
  }

  #placeArgs(id: number, call: Call, write: (place: PayloadPlace) => void): void {
    // A worker that shares no store gets the arguments in messages, also if they are sent again.
    if (this.#outbox.store === undefined) call.args = call.args.intoMemory();
    const { args } = call;
    if (args.isStored) write(args.place);
    else this.#outbox.place(id, args.buffer.subarray(args.start, args.end), write, "kept");
  }

  /**
   * A call whose arguments are still going out cannot be started. If the window counted it, small calls would wait for it.
   * So the window does not count the first few until their arguments are out.
   */
  #transfer(task: SentTask): void {
    if (this.#transfers >= FREE_TRANSFERS) {
      this.#window.sent(1);
      task.isCounted = true;
    }
    task.isInTransfer = true;
    this.#transfers++;
  }

  #transferred(task: SentTask): void {
    task.isInTransfer = false;
    this.#transfers--;
    if (!task.isCounted) this.#window.sent(1);
  }

  /** `encoded`: the value, when it has been encoded already. */
  step(task: SentTask, kind: StepKind, value: unknown, after: number, idle: boolean, encoded?: EarlyValue): void {
    const { writer } = this.#outbox;
    const { id } = task;
    const own = task.call?.extras?.serializer;
    const serializer = kind === StepKind.throw ? serializerOfThrown(own) : own;
    if (serializer !== undefined && value === undefined) {
      this.#outbox.inOrder(id, () => {
        writeStep(writer, id, kind, {}, [], after);
        this.#outbox.schedule(idle);
      });
      return;
    }
    const bytes =
      encoded?.bytes ??
      (serializer === undefined
        ? encoder.encodeInParts(value, "value", task.call?.route.weak)
        : dumpWith(serializer, value, "value"));
    const dependencies = encoded?.dependencies ?? (serializer === undefined ? encoder.takeDependencies() : []);
    task.call?.hold(dependencies);
    const needs = this.#announce(dependencies);
    this.#outbox.place(id, bytes, (place) => {
      writeStep(writer, id, kind, place, needs, after);
      this.#outbox.schedule(idle);
    });
  }

  credit({ id }: SentTask, steps: number, idle: boolean): void {
    this.#outbox.inOrder(id, () => {
      writeCredit(this.#outbox.writer, id, steps);
      this.#outbox.schedule(idle);
    });
  }

  /** Sends the abort of a signal among the arguments. An abort before the task is written travels with the task. */
  abortSignal({ id, isWritten }: SentTask, number: number, reason: unknown): void {
    if (!isWritten) return;
    this.#writeAbort(id, number, reason, false);
    this.#outbox.schedule(true);
  }

  /** Sends the aborts since the arguments were encoded, before the task can look at its signals. */
  #repeatAborts(id: number, signals: readonly LiveSignal[]): void {
    for (const [number, { signal, wasAborted }] of signals.entries()) {
      if (signal.aborted && !wasAborted) this.#writeAbort(id, number, signal.reason, true);
    }
  }

  #writeAbort(id: number, number: number, reason: unknown, early: boolean): void {
    const { bytes, needs } = this.#reason(reason);
    writeAbort(this.#outbox.writer, id, number, bytes, needs, early);
  }

  /** Leaves out a reason that cannot travel. The worker still learns of the abort. */
  #reason(reason: unknown): { bytes: Uint8Array; needs: readonly number[] } {
    if (!this.readsReasons) return { bytes: NO_BYTES, needs: [] };
    try {
      const bytes = Uint8Array.from(encoder.encode(reason, "reason"));
      return { bytes, needs: this.#announce(encoder.takeDependencies()) };
    } catch {
      return { bytes: NO_BYTES, needs: [] };
    }
  }

  cancel(task: SentTask, reason: unknown): void {
    const { writer } = this.#outbox;
    const { bytes, needs } = this.#reason(reason);
    this.#outbox.abandon(task.id);
    if (task.isInTransfer) this.#transferred(task);
    this.#openCancelBatch();
    writeCancel(writer, task.id, bytes, needs);
    task.cancelMessage = this.#outbox.nextMessage;
    this.#cancelBatch = { number: this.#outbox.batch, size: writer.size };
    this.#outbox.schedule(true);
  }

  /**
   * Cancellations must be the first frames of a message: a worker looks for them only there while its task thread is
   * busy.
   */
  #openCancelBatch(): void {
    const { writer, batch } = this.#outbox;
    if (writer.size === 0) return;
    const { number, size } = this.#cancelBatch;
    if (number !== batch || size !== writer.size) this.#outbox.flush();
  }

  /** Tells a worker that knows a pool, and may make calls there, what has changed. */
  refresh(pool: PoolReference): void {
    if (!this.#pools.has(pool.number) || this.#pools.get(pool.number) === pool.version) return;
    this.#announcePool(pool);
    this.#outbox.schedule(true);
  }

  #announcePool(pool: PoolReference): void {
    const { writer } = this.#outbox;
    const known = this.#pools.get(pool.number) ?? 0;
    this.#pools.set(pool.number, pool.version);
    const description = pool.describe(known);
    if (description === undefined) return;
    const balancer = known === 0 ? pool.balancer : undefined;
    const needs = this.#announce(balancer?.dependencies ?? []);
    writePoolReference(writer, pool.number, description, balancer?.bytes, needs);
  }

  /**
   * Sends a shared value that the worker asked for: the name of a file, which is written once for all workers, or the
   * value. Returns the value, or undefined if it is gone or already on its way.
   */
  provide(number: number, withoutFile: boolean): SharedContent | undefined {
    const { writer, store } = this.#outbox;
    const hash = this.#sent.hashOf(number);
    // It may already be on its way.
    if (this.#outbox.isHeldUp(SHARED_CHUNKS + number)) return undefined;
    const content = hash === undefined ? undefined : contentOf(hash);
    const payload = content?.payload;
    const file = store === undefined || withoutFile ? undefined : content?.storedIn(store);
    const write = (place: PayloadPlace | undefined): void => {
      writeShared(writer, number, place);
      this.#outbox.schedule(true);
    };
    if (content === undefined || payload === undefined) write(undefined);
    else if (file !== undefined) write({ chunked: content.bytes, file });
    else this.#outbox.placeLasting(SHARED_CHUNKS + number, payload, write);
    return content;
  }

  /** Call this when the session is over. */
  close(): void {
    this.#unwatch?.();
  }

  #announce(dependencies: readonly Dependency[]): readonly number[] {
    const needs = this.#sent.announce(this.#outbox.writer, RequestField.dependency, dependencies);
    if (this.#sent.hasValues) this.#unwatch ??= onContentGone((hash) => this.#drop(hash));
    return needs;
  }

  #drop(hash: string): void {
    const number = this.#sent.forget(hash);
    if (number === undefined) return;
    writeDropped(this.#outbox.writer, number);
    this.#outbox.schedule(true);
  }

  #announceRoute({ route }: Call): void {
    const { writer } = this.#outbox;
    this.#routes.delete(route.replaces);
    this.#routes.add(route.number);
    const needs = this.#announce(route.dependencies);
    writeRoute(writer, { ...route, needs });
  }
}
