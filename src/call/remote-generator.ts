import { InvalidArgument, TaskTimeout } from "../errors.ts";
import type { CallObserver } from "../routine/index.ts";
import { serializerOfThrown } from "../values/index.ts";
import { StepKind } from "../wire/index.ts";
import type { Call } from "./call.ts";
import type { StreamSink } from "./call-parties.ts";
import { RemoteFailure, throwAtCallSite } from "./remote-failure.ts";
import { type EarlyValue, encodeEarly, type RemoteTask } from "./remote-task.ts";

/** Timers may be early by this much. */
const TIMER_SLACK_MS = 2;

interface StepRequest {
  readonly kind: StepKind;
  readonly value: unknown;
  /** The value as it was when the step was asked for, if it had to wait. */
  readonly encoded?: EarlyValue;
  /** Plain steps that were asked for before this one. */
  readonly after: number;
  readonly resolve: (result: IteratorResult<unknown, unknown>) => void;
  readonly reject: (failure: unknown) => void;
}

type Ending = { readonly returned: unknown } | { readonly failure: unknown };

/**
 * The caller's end of a generator that runs on a worker. Behaves as a local one: steps queue, each advances the
 * remote generator once, and nothing is sent before the first.
 * `fresh`: not dispatched. `running`: dispatched. `ended`: ended at the worker; fetched values may remain. `done`:
 * over.
 */
export class RemoteGenerator implements AsyncGenerator<unknown, unknown, unknown>, StreamSink {
  readonly [Symbol.toStringTag] = "AsyncGenerator";
  readonly #dispatch: (stream: RemoteGenerator) => Call | undefined;
  readonly #observer: CallObserver | undefined;
  readonly #requests: StepRequest[] = [];
  /** Values fetched ahead and not yet asked for. */
  readonly #fetched: unknown[] = [];
  /** The furthest that the worker may be ahead. */
  readonly #mostFetched: number;
  #prefetch: number;
  #state: "fresh" | "running" | "ended" | "done" = "fresh";
  #ending: Ending | undefined;
  #call: Call | undefined;
  /** Plain steps, those without a value, that were asked for since the beginning. */
  #asked = 0;
  /** Plain steps that a worker that runs ahead has been granted. */
  #granted = 0;
  /** Throws and returns under way: values fetched before them do not count. */
  #controls = 0;
  #isCancelled = false;
  /** When the worker could begin, on the clock of `performance.now`. */
  #openedAt = 0;

  /** `observer` is told of each step. `dispatch` sends the task; it may end the stream instead. */
  constructor(
    prefetch: number,
    observer: CallObserver | undefined,
    dispatch: (stream: RemoteGenerator) => Call | undefined,
  ) {
    this.#prefetch = prefetch;
    this.#mostFetched = prefetch;
    this.#observer = observer;
    this.#dispatch = dispatch;
  }

  next(...args: [] | [unknown]): Promise<IteratorResult<unknown, unknown>> {
    const [value] = args;
    if (this.#prefetch > 0 && value !== undefined && this.#state === "running") {
      return Promise.reject(
        new InvalidArgument(
          "next(value) cannot reach a generator that runs ahead: call the routine with { prefetch: 0 } to send values",
        ),
      );
    }
    return this.#request(StepKind.next, value);
  }

  return(value?: unknown): Promise<IteratorResult<unknown, unknown>> {
    return this.#request(StepKind.return, value);
  }

  throw(error?: unknown): Promise<IteratorResult<unknown, unknown>> {
    return this.#request(StepKind.throw, error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  opened(): void {
    // The steps that came with the task. A worker that returned the call has used none of them.
    this.#granted = 1 + this.#prefetch;
    this.#openedAt = performance.now();
    this.#replenish();
    // The first step came with the task.
    for (const request of this.#requests.slice(1)) this.#sendStep(request);
  }

  yielded(value: unknown, control: boolean): boolean {
    // The value may have waited for its code until now.
    if (this.#isCancelled) return true;
    if (control) this.#controls--;
    else if (this.#controls > 0 && this.#requests[0]?.kind !== StepKind.next) return true;
    const request = this.#requests.shift();
    if (request !== undefined) request.resolve({ done: false, value });
    else if (this.#fetched.length > this.#mostFetched) return false;
    else this.#fetched.push(value);
    if (this.#requests.length === 0) this.#tellIfWaitedFor(false);
    else this.#call?.ask();
    return true;
  }

  returned(value: unknown): void {
    this.#end({ returned: value });
  }

  failed(failure: unknown): void {
    if (this.#isOutOfTime(failure)) this.cancelled();
    this.#end({ failure });
  }

  cancelled(): void {
    this.#isCancelled = true;
    this.#fetched.length = 0;
  }

  #request(kind: StepKind, value: unknown): Promise<IteratorResult<unknown, unknown>> {
    return new Promise<IteratorResult<unknown, unknown>>((settle, fail) => {
      const observer = this.#observer;
      observer?.made();
      const resolve = (result: IteratorResult<unknown, unknown>): void => {
        observer?.ended();
        settle(result);
      };
      const reject = (failure: unknown): void => {
        observer?.ended();
        fail(failure);
      };
      const request = { kind, value, after: this.#asked, resolve, reject };
      if (this.#state === "done") answerAfterEnd(request);
      else if (this.#state === "fresh") this.#first(request);
      else if (this.#state === "ended") this.#afterEnd(request);
      else this.#enqueue(request);
    }).then(undefined, throwAtCallSite);
  }

  #first(request: StepRequest): void {
    if (request.kind !== StepKind.next) {
      this.#state = "done";
      answerAfterEnd(request);
      return;
    }
    this.#state = "running";
    this.#asked = 1;
    this.#granted = 1 + this.#prefetch;
    this.#requests.push(request);
    try {
      this.#call = this.#dispatch(this);
    } catch (error) {
      this.#end({ failure: new RemoteFailure(error) });
    }
  }

  #enqueue(asked: StepRequest): void {
    const request = this.#task !== undefined ? asked : this.#snapshot(asked);
    if (request === undefined) return;
    if (request.kind === StepKind.next) {
      if (request.value === undefined) this.#asked++;
      this.#replenish();
      if (this.#fetched.length > 0) {
        request.resolve({ done: false, value: this.#fetched.shift() });
        return;
      }
    } else {
      this.#fetched.length = 0;
      this.#controls++;
    }
    this.#requests.push(request);
    if (this.#requests.length === 1) this.#call?.ask();
    this.#tellIfWaitedFor(true);
    this.#sendStep(request);
    if (request.kind !== StepKind.next) this.#prefetch = 0;
  }

  /** Takes steps; undefined until the worker has been sent the whole task. */
  get #task(): RemoteTask | undefined {
    const task = this.#call?.task;
    return task?.isWritten === true ? task : undefined;
  }

  /** A step that has to wait, with its value as it is now; undefined when the value cannot travel. */
  #snapshot(request: StepRequest): StepRequest | undefined {
    const { value, kind } = request;
    // No other value can change.
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return request;
    const own = this.#call?.extras?.serializer;
    const serializer = kind === StepKind.throw ? serializerOfThrown(own) : own;
    try {
      return { ...request, encoded: encodeEarly(value, serializer, this.#call?.route.weak) };
    } catch (error) {
      request.reject(new RemoteFailure(error));
      return undefined;
    }
  }

  #tellIfWaitedFor(isWaitedFor: boolean): void {
    this.#task?.setWaitedFor(isWaitedFor);
  }

  #sendStep(request: StepRequest): void {
    const task = this.#task;
    if (task === undefined) return;
    if (request.kind === StepKind.next && request.value === undefined) {
      // A generator that runs ahead has been given its credit already.
      if (this.#prefetch === 0) task.credit(1);
      return;
    }
    try {
      task.step(request.kind, request.value, request.after, request.encoded);
    } catch (error) {
      this.#requests.splice(this.#requests.indexOf(request), 1);
      if (this.#requests.length === 0) this.#tellIfWaitedFor(false);
      if (request.kind !== StepKind.next) this.#controls--;
      request.reject(new RemoteFailure(error));
    }
  }

  /** Keeps the worker up to `prefetch` steps ahead of the requests. Sends one message for each half of them. */
  #replenish(): void {
    const owed = this.#asked + this.#prefetch - this.#granted;
    if (this.#prefetch === 0 || owed < Math.ceil(this.#prefetch / 2)) return;
    const task = this.#task;
    if (task === undefined) return;
    this.#granted += owed;
    task.credit(owed);
  }

  /** Whether the worker reports the timeout a moment before this process does. The generator did not throw it. */
  #isOutOfTime(failure: unknown): boolean {
    const timeout = this.#call?.extras?.timeout;
    if (timeout === undefined || !(failure instanceof RemoteFailure && failure.error instanceof TaskTimeout))
      return false;
    return performance.now() - this.#openedAt > timeout - TIMER_SLACK_MS;
  }

  #end(ending: Ending): void {
    if (this.#state === "done" || this.#state === "ended") return;
    this.#state = "ended";
    this.#ending = ending;
    for (const request of this.#requests.splice(0)) this.#afterEnd(request);
  }

  /** Gives the fetched values, then the ending, then the answer of a generator that is over. */
  #afterEnd(request: StepRequest): void {
    const ending = this.#ending;
    if (request.kind === StepKind.next && this.#fetched.length > 0) {
      request.resolve({ done: false, value: this.#fetched.shift() });
      return;
    }
    if (ending === undefined) {
      answerAfterEnd(request);
      return;
    }
    this.#ending = undefined;
    this.#state = "done";
    const unseen = this.#fetched.length > 0;
    this.#fetched.length = 0;
    if (unseen || !answersRequest(request, this.#controls)) answerAfterEnd(request);
    else if ("failure" in ending) request.reject(ending.failure);
    else request.resolve({ done: true, value: ending.returned });
  }
}

/** Whether the end of a generator is its answer to this step, and not something that it reached by running ahead. */
function answersRequest(request: StepRequest, controls: number): boolean {
  return request.kind === StepKind.next || controls > 0;
}

/** The answer of a local generator that is over. */
function answerAfterEnd(request: StepRequest): void {
  if (request.kind === StepKind.throw) request.reject(request.value);
  else request.resolve({ done: true, value: request.kind === StepKind.return ? request.value : undefined });
}
