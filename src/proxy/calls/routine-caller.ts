import {
  Call,
  type CallExtras,
  closeSignals,
  followSignals,
  fromCaller,
  type LiveSignal,
  limitCall,
  openSignals,
  type PoolReference,
  type Reject,
  RemoteGenerator,
  rejectAtCallSite,
} from "../../call/index.ts";
import { encodeContext } from "../../context/index.ts";
import type { Dependency } from "../../functions/index.ts";
import { payloadFiles } from "../../host/index.ts";
import {
  argumentsOf,
  type CallContext,
  type CallOptions,
  currentCallContext,
  type RoutineSpec,
} from "../../routine/index.ts";
import { areTasksObserved } from "../../telemetry/index.ts";
import { dumpWith, type EncodedValue, functionPort, jsonSerializer, ValueEncoder } from "../../values/index.ts";
import { STORE_FROM_BYTES, storePayload } from "../../wire/index.ts";
import type { Member } from "../members/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import { CallPacker } from "./call-packer.ts";
import { DirectCall } from "./direct-call.ts";
import { StagingBuffer } from "./staging-buffer.ts";
import { reportRefusal, TaskReport } from "./task-report.ts";

/** How a call gets to a worker. */
interface Way {
  /** To this worker only. */
  readonly member?: Member;
  /** The code that makes such calls bounds their number itself. */
  readonly isBounded?: boolean;
}

/** Calls routines through a scheduler: encodes arguments and context, applies options. */
export class RoutineCaller {
  readonly #scheduler: Scheduler;
  readonly #dataOnly: boolean;
  readonly #pool: PoolReference;
  readonly #staging = new StagingBuffer();
  /** Hashes of modules that some worker does not have: their code travels instead. */
  readonly #unavailable = new Map<string, string>();
  /** What remakes calls whose arguments depend on nothing, and the calls that were remade. */
  readonly #remakers = new WeakMap<RoutineSpec, NonNullable<Call["remake"]>>();
  readonly #remade = new WeakSet<Call>();
  readonly #encoder = new ValueEncoder(functionPort({ unavailable: this.#unavailable }));

  /** `pool`: what the called tasks know of the pool. */
  constructor(scheduler: Scheduler, pool: PoolReference, results?: "data") {
    this.#scheduler = scheduler;
    this.#dataOnly = results === "data";
    this.#pool = pool;
  }

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    return this.#call(spec, args, options, {});
  }

  /**
   * Makes calls of a routine for code that has many calls under way and bounds their number. Uses packs of up to `most`
   * calls where that is possible and worth it.
   */
  packer(
    spec: RoutineSpec,
    context: CallContext | undefined,
    options: CallOptions | undefined,
    most: () => number,
  ): CallPacker {
    const isPlain = effectiveOptions(spec, context, options) === undefined && isBare(context);
    return new CallPacker({
      most,
      canPack: () => isPlain && !spec.method && !this.#dataOnly && !areTasksObserved() && this.#scheduler.takesPacks,
      route: () => spec.route(undefined, this.#unavailable.size === 0 ? undefined : this.#unavailable),
      encoder: this.#encoder,
      make: (route, args, pack, resolve, reject) => {
        const call = new Call(route, this.#scheduler.calls, resolve, reject, pack);
        call.args = args;
        call.pool = this.#pool;
        holdShared(call);
        if (route.dependencies.length > 0) {
          call.remake = this.#plainRemaker(spec);
          watchFirst(call, spec);
        }
        this.#submit(call, { isBounded: true });
        return call;
      },
      single: (item, resolve, reject) =>
        this.#begin(spec, argumentsOf(spec, [item]), context, options, { isBounded: true }, resolve, reject),
    });
  }

  /** Calls a routine on one worker only. */
  callOn(
    member: Member,
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): Promise<unknown> {
    return this.#call(spec, args, options, { member });
  }

  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    const context = currentCallContext();
    const prefetch = effectiveOptions(spec, context, options)?.prefetch ?? 0;
    return new RemoteGenerator(prefetch, context?.calls, (generator) => {
      const effective = effectiveOptions(spec, context, options);
      if (effective?.signal?.aborted === true) {
        reportRefusal(spec, context, effective, "cancelled", effective.signal.reason);
        generator.failed(effective.signal.reason);
        return undefined;
      }
      let call: Call;
      try {
        call = this.#make(
          spec,
          args,
          context,
          effective,
          (value) => generator.returned(value),
          (failure) => generator.failed(failure),
        );
        call.stream = generator;
        this.#submit(call, {});
      } catch (error) {
        reportRefusal(spec, context, effective, "threw", error);
        throw error;
      }
      // A generator's steps are observed one by one.
      attend(call, undefined, effective);
      return call;
    });
  }

  #call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined, way: Way): Promise<unknown> {
    return new Promise<unknown>((resolve) => {
      this.#begin(spec, args, currentCallContext(), options, way, resolve, undefined);
    });
  }

  #begin(
    spec: RoutineSpec,
    args: readonly unknown[],
    context: CallContext | undefined,
    options: CallOptions | undefined,
    way: Way,
    resolve: (value: unknown) => void,
    reject: Reject | undefined,
  ): Call | undefined {
    const effective = effectiveOptions(spec, context, options);
    try {
      if (effective?.signal?.aborted === true) {
        reportRefusal(spec, context, effective, "cancelled", effective.signal.reason);
        rejectAtCallSite(resolve, reject, effective.signal.reason);
        return undefined;
      }
      const call = this.#make(spec, args, context, effective, resolve, reject);
      this.#submit(call, way);
      attend(call, context, effective);
      return call;
    } catch (error) {
      reportRefusal(spec, context, effective, "threw", error);
      rejectAtCallSite(resolve, reject, fromCaller(error));
      return undefined;
    }
  }

  /** Submits a call. A call that nobody takes ends, and leaves nothing behind. */
  #submit(call: Call, { member, isBounded }: Way): void {
    try {
      if (member === undefined) this.#scheduler.submit(call, isBounded);
      else void new DirectCall(member).send(call);
    } catch (error) {
      call.discard();
      throw error;
    }
  }

  #make(
    spec: RoutineSpec,
    args: readonly unknown[],
    context: CallContext | undefined,
    options: CallOptions | undefined,
    resolve: (value: unknown) => void,
    reject: Reject | undefined,
  ): Call {
    const route = spec.route(
      spec.method ? args[0] : undefined,
      this.#unavailable.size === 0 ? undefined : this.#unavailable,
    );
    const call = new Call(route, this.#scheduler.calls, resolve, reject);
    const dependencies = this.#encode(call, spec, args, options);
    // Tasks in another language do not use the members of a pool.
    if (route.encoding === undefined) call.pool = this.#pool;
    call.extras = makeExtras(spec, context, options, dependencies, this.#dataOnly);
    holdShared(call);
    if (dependencies.length > 0 || (spec.method && route.dependencies.length > 0)) {
      call.remake = this.#remaker(spec, args, context, options);
    } else if (route.dependencies.length > 0) call.remake = this.#plainRemaker(spec);
    if (route.dependencies.length > 0) watchFirst(call, spec);
    return call;
  }

  /** Remakes calls of a routine whose arguments depend on nothing. All of them share it: many may wait. */
  #plainRemaker(spec: RoutineSpec): NonNullable<Call["remake"]> {
    let remaker = this.#remakers.get(spec);
    if (remaker === undefined) {
      remaker = (call, unavailable, why) => {
        if (!this.#isWorthRemaking(call, unavailable, why)) return false;
        call.route = spec.route(undefined, this.#unavailable);
        return true;
      };
      this.#remakers.set(spec, remaker);
    }
    return remaker;
  }

  #remaker(
    spec: RoutineSpec,
    args: readonly unknown[],
    context: CallContext | undefined,
    options: CallOptions | undefined,
  ): NonNullable<Call["remake"]> {
    return (call, unavailable, why) => {
      if (!this.#isWorthRemaking(call, unavailable, why)) return false;
      this.#remake(call, spec, args, context, options);
      return true;
    };
  }

  /** False when the call would be the same as before. */
  #isWorthRemaking(call: Call, unavailable: readonly string[], why: string): boolean {
    const before = this.#unavailable.size;
    for (const hash of unavailable) this.#unavailable.set(hash, why);
    if (this.#unavailable.size === before && this.#remade.has(call)) return false;
    this.#remade.add(call);
    return true;
  }

  /**
   * Makes a call anew for workers that lack some modules. Sends the arguments as they were at the call, if possible.
   */
  #remake(
    call: Call,
    spec: RoutineSpec,
    args: readonly unknown[],
    context: CallContext | undefined,
    options: CallOptions | undefined,
  ): void {
    call.route = spec.route(spec.method ? args[0] : undefined, this.#unavailable);
    const { extras } = call;
    if (extras?.dependencies === undefined || extras.dependencies.length === 0) return;
    const dependencies = this.#encode(call, spec, args, options);
    // The time limit still counts from the call.
    const made = makeExtras(spec, context, options, dependencies, this.#dataOnly);
    call.extras = { ...made, acceptBy: extras.acceptBy };
    holdShared(call);
    if (call.signals !== undefined) followSignals(call, call.signals);
  }

  /**
   * Stores large arguments at once in files that every worker can read, so that they are copied once and take no heap
   * while they wait. Not for calls that may be tried again after a worker was lost: nobody knows whether it has read
   * them.
   */
  #keep(call: Call, bytes: EncodedValue, options: CallOptions | undefined): void {
    if (bytes.length > STORE_FROM_BYTES && options?.idempotent !== true && this.#scheduler.sharesFiles) {
      const stored = storePayload(payloadFiles, bytes);
      if (stored !== undefined) {
        call.args = stored;
        return;
      }
    }
    this.#staging.store(bytes);
    const { slab, start, end } = this.#staging;
    call.setArgs(slab, start, end);
  }

  /** Gives a call its encoded arguments. Returns what they depend on. */
  #encode(
    call: Call,
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): readonly Dependency[] {
    const encoder = this.#encoder;
    const serializer = spec.options.serializer;
    const { weak } = call.route;
    let bytes: EncodedValue;
    let signals: readonly LiveSignal[] | undefined;
    openSignals();
    try {
      if (serializer !== undefined) bytes = dumpWith(serializer, args, "args");
      else if (spec.method) bytes = encoder.encodeMethodCall(args, "args", weak);
      else bytes = encoder.encodeList(args, "args", weak);
    } finally {
      signals = closeSignals();
    }
    const dependencies = serializer === undefined ? encoder.takeDependencies() : [];
    this.#keep(call, bytes, options);
    call.signals = signals;
    return dependencies;
  }
}

/** Tells a routine what its first call has used in the end. */
function watchFirst(call: Call, spec: RoutineSpec): void {
  if (spec.takeFirstCall()) call.watch({ ended: () => spec.firstCallEnded(call.route) });
}

/** Keeps the shared values that a call needs until it has ended, even if their handles are disposed of. */
function holdShared(call: Call): void {
  const { route } = call;
  if (route.sharesNothing !== true) call.hold(route.dependencies);
  if (call.extras?.dependencies !== undefined) call.hold(call.extras.dependencies);
}

/** Ties a call to its signals, its limits and the observer of the task that makes it. */
function attend(call: Call, context: CallContext | undefined, options: CallOptions | undefined): void {
  if (areTasksObserved()) call.watch(new TaskReport(call));
  if (call.signals !== undefined) followSignals(call, call.signals);
  const observer = context?.calls;
  if (observer !== undefined) {
    observer.made();
    call.watch({ ended: () => observer.ended() });
  }
  if (options !== undefined) limitCall(call, options);
}

/** Whether a context changes nothing about the calls that are made in it. */
function isBare(context: CallContext | undefined): boolean {
  if (context === undefined) return true;
  const { task, variables, ambient, calls } = context;
  return task === undefined && ambient === undefined && calls === undefined && (variables?.size ?? 0) === 0;
}

/** The options in force for a call: those of the routine, then of its context, then of the call itself. */
function effectiveOptions(
  spec: RoutineSpec,
  context: CallContext | undefined,
  options: CallOptions | undefined,
): CallOptions | undefined {
  const ambient = context?.ambient;
  // A task's calls are cancelled with the task.
  const taskSignal = context?.task?.signal;
  if (options === undefined && ambient === undefined && taskSignal === undefined && spec.plain) return undefined;
  const merged = { ...spec.options, ...ambient, ...options };
  if (taskSignal === undefined) return merged;
  return { ...merged, signal: merged.signal === undefined ? taskSignal : AbortSignal.any([merged.signal, taskSignal]) };
}

function makeExtras(
  spec: RoutineSpec,
  context: CallContext | undefined,
  options: CallOptions | undefined,
  dependencies: readonly Dependency[],
  dataOnly: boolean,
): CallExtras | undefined {
  const serializer = spec.options.serializer;
  // Context variables travel in the encoding of this runtime only.
  const encoded = context === undefined || serializer === jsonSerializer ? undefined : encodeContext(context);
  const caller = context?.task?.id;
  if (
    options === undefined &&
    encoded === undefined &&
    caller === undefined &&
    serializer === undefined &&
    dependencies.length === 0 &&
    !dataOnly
  ) {
    return undefined;
  }
  return {
    timeout: options?.timeout,
    prefetch: options?.prefetch,
    idempotent: options?.idempotent,
    key: options?.key,
    dataOnly: dataOnly || options?.results === "data",
    needs: options?.needs === undefined || options.needs.length === 0 ? undefined : [...options.needs],
    acceptBy: options?.dispatchTimeout === undefined ? undefined : performance.now() + options.dispatchTimeout,
    caller,
    serializer,
    context: encoded?.bytes,
    dependencies: encoded === undefined ? dependencies : [...dependencies, ...encoded.dependencies],
  };
}
