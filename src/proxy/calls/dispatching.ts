import {
  beforeEnd,
  Call,
  type CallExtras,
  type CallOwner,
  closeSignals,
  controlCall,
  fromCaller,
  type LiveSignal,
  openSignals,
  type Scope,
  throwAtCallSite,
  watchSignals,
} from "../../call/index.ts";
import { RemoteGenerator } from "../../connection/index.ts";
import { encodeContext } from "../../context/index.ts";
import type { Dependency } from "../../functions/index.ts";
import { payloadFiles } from "../../host/index.ts";
import {
  type CallContext,
  type CallObserver,
  type CallOptions,
  currentCallContext,
  type RoutineSpec,
} from "../../routine/index.ts";
import { dumpWith, type EncodedValue, functionPort, ValueEncoder } from "../../values/index.ts";
import { Payload, STORE_FROM_BYTES, storePayload } from "../../wire/index.ts";
import type { Member } from "../members/index.ts";
import { directOwner, endCall, type Scheduler, sendDirectly } from "../scheduling/index.ts";
import { StagingBuffer } from "./staging-buffer.ts";

/** Turns calls of routines into calls of a scheduler: encodes arguments and context, applies options. */
export class Dispatching {
  readonly #scheduler: Scheduler;
  readonly #makeScope: () => Scope;
  #scope: Scope | undefined;
  readonly #staging = new StagingBuffer();
  /** Hashes of modules that some worker does not have: their code travels instead. */
  readonly #unavailable = new Map<string, string>();
  readonly #encoder = new ValueEncoder(functionPort({ unavailable: this.#unavailable }));

  /** `makeScope` describes the pool to the tasks that are called through it; it is asked again after each `rescope`. */
  constructor(scheduler: Scheduler, makeScope: () => Scope) {
    this.#scheduler = scheduler;
    this.#makeScope = makeScope;
  }

  /** The pool is to be described anew: its workers are others now. */
  rescope(): void {
    this.#scope = undefined;
  }

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      try {
        const call = this.#make(this.#scheduler, spec, args, options, resolve, reject);
        if (call !== undefined) this.#scheduler.submit(call);
      } catch (error) {
        reject(fromCaller(error));
      }
    }).then(undefined, throwAtCallSite);
  }

  /** Calls a routine on one worker and no other. */
  callOn(
    member: Member,
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      try {
        const call = this.#make(directOwner(member), spec, args, options, resolve, reject);
        if (call !== undefined) void sendDirectly(call, member);
      } catch (error) {
        reject(fromCaller(error));
      }
    }).then(undefined, throwAtCallSite);
  }

  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    const frame = currentCallContext();
    const prefetch = effectiveOptions(spec, frame, options)?.prefetch ?? 0;
    return new RemoteGenerator(prefetch, frame?.calls, (generator) => {
      const call = this.#make(
        this.#scheduler,
        spec,
        args,
        options,
        (value) => generator.returned(value),
        (failure) => generator.failed(failure),
        frame,
      );
      if (call === undefined) return undefined;
      call.stream = generator;
      this.#scheduler.submit(call);
      return call;
    });
  }

  /** The same call for workers that do not have some modules. Nothing when it would be no different. */
  #remake(
    unavailable: readonly string[],
    why: string,
    owner: CallOwner,
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
    call: Call,
    frame: CallContext | undefined,
  ): Call | undefined {
    const before = this.#unavailable.size;
    for (const hash of unavailable) this.#unavailable.set(hash, why);
    if (this.#unavailable.size === before && call.remade) return undefined;
    const remade = this.#make(owner, spec, args, options, call.resolve, call.reject, frame, call);
    if (remade === undefined) return undefined;
    remade.remade = true;
    remade.stream = call.stream;
    remade.attempts = call.attempts;
    const { onHanded, onStarted } = remade;
    // The limits of the first call are those of both.
    remade.onHanded = () => {
      call.onHanded?.();
      onHanded?.();
    };
    remade.onStarted = () => {
      call.onStarted?.();
      onStarted?.();
    };
    return remade;
  }

  /**
   * Stores large arguments at once where every worker can read them, so that they are copied once and wait in no heap.
   * Not for calls that may be tried again after a worker was lost: nobody knows whether it has read them.
   */
  #keep(bytes: EncodedValue, options: CallOptions | undefined): Payload {
    if (bytes.length > STORE_FROM_BYTES && options?.idempotent !== true && this.#scheduler.sharesFiles) {
      const stored = storePayload(payloadFiles, bytes);
      if (stored !== undefined) return stored;
    }
    this.#staging.store(bytes);
    const { slab, start, end } = this.#staging;
    return Payload.inMemory(slab, start, end);
  }

  /**
   * The call, or nothing when its signal was aborted before it was made.
   *
   * @param first - the call that is made anew: its arguments count as they were then
   */
  #make(
    owner: CallOwner,
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
    resolve: (value: unknown) => void,
    reject: (failure: unknown) => void,
    frame: CallContext | undefined = currentCallContext(),
    first?: Call,
  ): Call | undefined {
    const effective = effectiveOptions(spec, frame, options);
    if (effective?.signal?.aborted === true) {
      reject(effective.signal.reason);
      return undefined;
    }
    const self = spec.method ? args[0] : undefined;
    const route = spec.route(self, this.#unavailable.size === 0 ? undefined : this.#unavailable);
    const sent = (first === undefined ? undefined : sentArguments(first)) ?? this.#encode(spec, args, effective);
    const { dependencies, signals } = sent;
    const extras = makeExtras(spec, frame, effective, dependencies);
    this.#scope ??= this.#makeScope();
    const call = new Call(route, owner, this.#scope, extras, sent.args);
    call.resolve = resolve;
    call.reject = reject;
    if (route.dependencies.length > 0 || dependencies.length > 0) {
      call.remake = (unavailable, why) => this.#remake(unavailable, why, owner, spec, args, options, call, frame);
    }
    if (signals !== undefined) watchSignals(call, signals);
    // A generator's steps are observed one by one.
    if (frame?.calls !== undefined && !spec.streams) observe(call, frame.calls);
    if (effective !== undefined) {
      const scheduler = this.#scheduler;
      controlCall(call, effective, owner === scheduler ? (withdrawn) => scheduler.withdraw(withdrawn) : endCall);
    }
    return call;
  }

  #encode(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): SentArguments {
    const encoder = this.#encoder;
    const serializer = spec.options.serializer;
    let bytes: EncodedValue;
    let signals: readonly LiveSignal[] | undefined;
    openSignals();
    try {
      bytes = serializer === undefined ? encoder.encodeList(args, "args") : dumpWith(serializer, args, "args");
    } finally {
      signals = closeSignals();
    }
    const dependencies = serializer === undefined ? encoder.dependencies : [];
    return { args: this.#keep(bytes, options), dependencies, signals };
  }
}

/** Encoded arguments. */
interface SentArguments {
  readonly args: Payload;
  readonly dependencies: readonly Dependency[];
  readonly signals: readonly LiveSignal[] | undefined;
}

/** The arguments of a call as they were encoded; nothing when there is code in them that may have to travel otherwise. */
function sentArguments({ args, signals, extras }: Call): SentArguments | undefined {
  if (extras?.dependencies !== undefined && extras.dependencies.length > 0) return undefined;
  return { args, dependencies: [], signals };
}

function observe(call: Call, observer: CallObserver): void {
  observer.made();
  beforeEnd(call, () => observer.ended());
}

/** The options in force for a call: those of the routine, then of the scope, then of the call itself. */
function effectiveOptions(
  spec: RoutineSpec,
  frame: CallContext | undefined,
  options: CallOptions | undefined,
): CallOptions | undefined {
  const ambient = frame?.ambient;
  const taskSignal = frame?.task === undefined ? undefined : inheritedSignal(frame);
  if (options === undefined && ambient === undefined && taskSignal === undefined && spec.plain) return undefined;
  const merged = { ...spec.options, ...ambient, ...options };
  if (taskSignal === undefined) return merged;
  return { ...merged, signal: merged.signal === undefined ? taskSignal : AbortSignal.any([merged.signal, taskSignal]) };
}

/** A task's calls are cancelled with it. */
function inheritedSignal(frame: CallContext): AbortSignal | undefined {
  return frame.task?.signal;
}

function makeExtras(
  spec: RoutineSpec,
  frame: CallContext | undefined,
  options: CallOptions | undefined,
  dependencies: readonly Dependency[],
): CallExtras | undefined {
  const context = frame === undefined ? undefined : encodeContext(frame);
  const serializer = spec.options.serializer;
  const caller = frame?.task?.id;
  if (
    options === undefined &&
    context === undefined &&
    caller === undefined &&
    serializer === undefined &&
    dependencies.length === 0
  ) {
    return undefined;
  }
  return {
    timeout: options?.timeout,
    prefetch: options?.prefetch,
    idempotent: options?.idempotent,
    key: options?.key,
    acceptBy: options?.dispatchTimeout === undefined ? undefined : performance.now() + options.dispatchTimeout,
    caller,
    serializer,
    context: context?.bytes,
    dependencies: context === undefined ? dependencies : [...dependencies, ...context.dependencies],
  };
}
