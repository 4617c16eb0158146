import { WorkerLost } from "../errors.ts";
import type { Dependency } from "../functions/index.ts";
import type { Route } from "../routine/index.ts";
import { SharedContent } from "../sharing/index.ts";
import { Payload } from "../wire/index.ts";
import { CallContents } from "./call-contents.ts";
import type { CallGroup } from "./call-group.ts";
import type { CallPack } from "./call-pack.ts";
import type { CallEnd, CallOwner, CallWatcher, Recipient } from "./call-parties.ts";
import { type Reject, RemoteFailure, rejectAtCallSite } from "./remote-failure.ts";
import type { RemoteTask } from "./remote-task.ts";

/**
 * Where a call stands.
 *
 * - `created`: it has no owner yet.
 * - `waiting`: it is with its owner, and at no worker.
 * - `sent`: it was handed to a worker.
 * - `running`: the worker has started it.
 * - `settling`: the worker has given its final answer or is lost, and that is being handled.
 * - `ended`: its caller has been told.
 *
 * It goes from each state to the next. From `sent` it may go to `settling`, and from `settling` back to `waiting`. It may
 * end in every state.
 */
export type CallState = "created" | "waiting" | "sent" | "running" | "settling" | "ended";

let lastSequence = 0;

/** A number that names one call of this process, or the first of `count` such numbers. */
export function nextSequence(count = 1): number {
  const first = lastSequence + 1;
  lastSequence += count;
  return first;
}

/** The name of a task in the whole system. */
export function taskId(caller: string, sequence: number): string {
  return `${caller}-${sequence.toString(36)}`;
}

/**
 * One call of a routine, from the moment it is made to its end, or a pack of them. Every change of its state happens here.
 */
export class Call extends CallContents {
  /** Its place in the owner's queue. */
  place = 0;
  /** Remakes a call for a worker that lacks the modules with these hashes. Returns false when it would be the same. */
  remake: ((call: Call, unavailable: readonly string[], why: string) => boolean) | undefined;
  readonly #group: CallGroup;
  #state: CallState = "created";
  #owner: CallOwner | undefined;
  #recipient: Recipient | undefined;
  #task: RemoteTask | undefined;
  #resolve: (value: unknown) => void;

  /**
   * Calls `resolve` with the returned value, or `reject` with a `RemoteFailure`: one of them, once. Without `reject`, `resolve`
   * belongs to the promise of the caller (`rejectAtCallSite`). The calls of a pack are told one by one; `reject` is called only
   * when all calls that are left fail.
   */
  constructor(
    route: Route,
    group: CallGroup,
    resolve: (value: unknown) => void,
    reject: Reject | undefined,
    pack?: CallPack,
    sequence = nextSequence(pack?.lengths.length),
  ) {
    super(sequence, route, pack);
    this.#group = group;
    this.#resolve = resolve;
    if (reject !== undefined) this.more().reject = reject;
  }

  get state(): CallState {
    return this.#state;
  }

  /** The number of calls in it. */
  get size(): number {
    return this.pack === undefined ? 1 : this.pack.lengths.length;
  }

  /** How many calls it counts as while it waits for a worker, or is at one. */
  get load(): number {
    return this.pack?.isJoined === true ? this.pack.left : 1;
  }

  /** Keeps it while it waits, and decides what to do when a worker does not run it. */
  get owner(): CallOwner | undefined {
    return this.#owner;
  }

  /** The worker that it was last handed to. */
  get recipient(): Recipient | undefined {
    return this.#recipient;
  }

  /** The task at its worker; undefined while it is at none. */
  get task(): RemoteTask | undefined {
    return this.#task;
  }

  /** The error of the lost worker, when it is being tried once more. */
  get lostBefore(): Error | undefined {
    return this.rest?.lostBefore;
  }

  /** Whether it may run once more after its worker was lost. */
  get canRunAgain(): boolean {
    const rest = this.rest;
    return rest?.extras?.idempotent === true && rest.stream === undefined && rest.lostBefore === undefined;
  }

  /** Tells a watcher of every further change. */
  watch(watcher: CallWatcher): void {
    const rest = this.more();
    if (rest.watchers === undefined) rest.watchers = [watcher];
    else rest.watchers.push(watcher);
  }

  /** Keeps the shared values among these until the call has ended. */
  hold(dependencies: readonly Dependency[]): void {
    for (const { source } of dependencies) {
      if (!(source instanceof SharedContent) || this.#state === "ended") continue;
      source.use();
      const rest = this.more();
      rest.shared ??= [];
      rest.shared.push(source);
    }
  }

  /** Whether it uses a shared value. */
  uses(content: SharedContent): boolean {
    return this.rest?.shared?.includes(content) === true;
  }

  /** `created` to `waiting`, or from one owner to another. */
  waitAt(owner: CallOwner): void {
    if (this.#state === "created") this.#group.opened();
    this.#state = "waiting";
    this.#owner = owner;
  }

  /** `settling` to `waiting`: it will be handed out again. */
  waitAgain(owner: CallOwner, why: "rejected" | "lost"): void {
    this.#state = "waiting";
    this.#owner = owner;
    const watchers = this.rest?.watchers;
    if (watchers !== undefined) for (const watcher of watchers) watcher.requeued?.(this, why);
  }

  /** `waiting` to `sent`. */
  send(task: RemoteTask, recipient: Recipient): void {
    this.#state = "sent";
    this.#task = task;
    this.#recipient = recipient;
    recipient.tally.inFlight += this.#left;
    const watchers = this.rest?.watchers;
    if (watchers !== undefined) for (const watcher of watchers) watcher.sent?.(this);
  }

  /** `sent` to `running`. */
  start(): void {
    if (this.#state !== "sent") return;
    this.#state = "running";
    const watchers = this.rest?.watchers;
    if (watchers !== undefined) for (const watcher of watchers) watcher.started?.(this);
  }

  /** `sent` or `running` to `settling`: the worker does not have it any more. */
  leave(): void {
    if (this.#state !== "sent" && this.#state !== "running") return;
    this.#state = "settling";
    this.#task = undefined;
    if (this.#recipient !== undefined) this.#recipient.tally.inFlight -= this.#left;
  }

  /** Calls in it that have not ended. */
  get #left(): number {
    return this.pack === undefined ? 1 : this.pack.left;
  }

  /** Asks the generator for a step. */
  ask(): void {
    const watchers = this.rest?.watchers;
    if (watchers !== undefined) for (const watcher of watchers) watcher.asked?.(this);
  }

  /** The generator yielded. Returns false when nobody asked for the value. */
  yield(value: unknown, control: boolean): boolean {
    const watchers = this.rest?.watchers;
    if (watchers !== undefined) for (const watcher of watchers) watcher.yielded?.(this);
    return this.stream?.yielded(value, control) ?? false;
  }

  /** To `ended`: the routine returned. */
  succeed(value: unknown): void {
    const resolve = this.#resolve;
    if (!this.#end("done", undefined)) return;
    if (this.#recipient !== undefined) this.#recipient.tally.done++;
    resolve(value);
  }

  /**
   * Calls of a pack that follow each other have returned these values; to `ended` with the last one. Returns false when one
   * of them does not exist or had already ended.
   */
  returnItems(first: number, values: readonly unknown[]): boolean {
    if (this.#state === "ended") return true;
    if (!this.#endItems(first, values.length, "done")) return false;
    this.pack?.tellValues(first, values);
    return true;
  }

  /** One call of a pack has failed. Otherwise like `returnItems`. */
  failItem(index: number, error: unknown): boolean {
    if (this.#state === "ended") return true;
    if (!this.#endItems(index, 1, "failed")) return false;
    this.pack?.tellFailure(index, new RemoteFailure(error));
    return true;
  }

  #endItems(first: number, count: number, how: "done" | "failed"): boolean {
    const { pack } = this;
    if (pack === undefined || !pack.end(first, count)) return false;
    const tally = this.#recipient?.tally;
    if (tally !== undefined) {
      if (this.#state !== "settling") tally.inFlight -= count;
      tally[how] += count;
    }
    if (pack.left === 0) this.#end("done", undefined);
    return true;
  }

  /** Whether it waits, nobody follows it, and it differs from other calls of its routine in its arguments at most. */
  get isPlain(): boolean {
    return this.rest === undefined && this.pack === undefined && this.#state === "waiting";
  }

  /** A call with this pack, which waits at the same owner. Its parts are this call and those that follow. */
  joined(pack: CallPack): Call {
    const call = new Call(this.route, this.#group, ignore, (failure) => pack.fail(failure), pack, this.sequence);
    call.pool = this.pool;
    call.remake = this.remake;
    if (this.#owner !== undefined) call.waitAt(this.#owner);
    return call;
  }

  /** To `ended`, as a part of a pack. Returns the function that tells its caller. */
  handOver(): (value: unknown) => void {
    const resolve = this.#resolve;
    this.#state = "ended";
    this.#resolve = ignore;
    this.remake = undefined;
    this.#group.closed();
    return resolve;
  }

  /** To `ended`, when the worker does not accept packs. Returns the calls of the pack, which wait at the same owner. */
  unpack(pack: CallPack): Call[] {
    const { args, route, pool } = this;
    let end = args.start;
    const parts = pack.lengths.map((length, index) => {
      const part = new Call(
        route,
        this.#group,
        (value) => pack.tellValues(index, [value]),
        (failure) => pack.tellFailure(index, failure),
      );
      const start = end;
      end += length;
      part.args = Payload.inMemory(args.buffer, start, end);
      part.pool = pool;
      part.remake = this.remake;
      if (this.#owner !== undefined) part.waitAt(this.#owner);
      return part;
    });
    pack.parts = parts;
    this.#state = "settling";
    this.#end("cancelled", undefined);
    return parts;
  }

  /** To `ended`: the routine threw. */
  raise(error: unknown): void {
    if (this.#state !== "ended" && this.#recipient !== undefined) this.#recipient.tally.failed++;
    this.fail(error);
  }

  /** To `ended`: the call failed for another reason than that the routine threw. */
  fail(error: unknown): void {
    this.#rejectAs("failed", error);
  }

  /** `created` to `ended`: nobody took it, and its caller has been told. */
  discard(): void {
    this.#end("cancelled", undefined);
  }

  /** From `settling`, because the worker is lost: to `waiting` at `owner` if it can run again, and to `ended` if not. */
  lose(owner: CallOwner, error: Error): void {
    if (this.#recipient !== undefined) this.#recipient.tally.failed++;
    if (this.canRunAgain) {
      this.more().lostBefore = error;
      this.waitAgain(owner, "lost");
    } else this.#rejectAs("lost", lostError(this, error));
  }

  /** To `ended`: the caller no longer waits. A worker that has the call is told to stop. */
  cancel(reason: unknown): void {
    if (this.#state === "ended") {
      for (const part of this.pack?.parts ?? []) part.cancel(reason);
      return;
    }
    this.stream?.cancelled();
    this.#task?.cancel(reason);
    this.#rejectAs("cancelled", reason);
  }

  #rejectAs(how: CallEnd, error: unknown): void {
    const resolve = this.#resolve;
    const reject = this.rest?.reject;
    if (this.#end(how, error)) rejectAtCallSite(resolve, reject, new RemoteFailure(error));
  }

  /**
   * Releases its references. A call often gets into the old generation of the heap. Results of any size would stay
   * there with it until a major garbage collection.
   */
  #end(how: CallEnd, error: unknown): boolean {
    const before = this.#state;
    if (before === "ended") return false;
    this.leave();
    this.#state = "ended";
    const rest = this.rest;
    const watchers = rest?.watchers;
    if (rest !== undefined && watchers !== undefined) {
      rest.watchers = undefined;
      for (const watcher of watchers) watcher.ended?.(this, how, error);
    }
    if (before === "waiting") this.#owner?.withdraw(this);
    if (before === "waiting" || before === "created") this.dropArgs();
    this.#resolve = ignore;
    if (rest !== undefined) {
      const { shared } = rest;
      rest.shared = undefined;
      rest.reject = undefined;
      if (shared !== undefined) for (const content of shared) content.unuse();
    }
    this.remake = undefined;
    if (before !== "created") this.#group.closed();
    return true;
  }
}

function ignore(): void {}

function lostError(call: Call, error: Error): Error {
  if (!(error instanceof WorkerLost)) return error;
  return new WorkerLost(
    `${error.message}; ${call.route.name} was sent to it and may or may not have run ` +
      "(a routine with { idempotent: true } is tried once more elsewhere)",
  );
}
