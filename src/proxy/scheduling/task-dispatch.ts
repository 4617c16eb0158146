import type {
  DispatchableTask,
  DispatchingLoadBalancerLike,
  DispatchOutcome,
  LoadBalancerContextView,
  ResultStream,
  SendOptions,
} from "../../balancing/index.ts";
import { type AttemptListener, type Call, RemoteFailure, type WaitingPlace } from "../../call/index.ts";
import { describeValue } from "../../checks/index.ts";
import { InvalidArgument, TaskCancelled, TransientRpcError, type WoolError } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import type { Connector, Member } from "../members/index.ts";
import { failCall } from "./fail-call.ts";
import { follow } from "./hand-over.ts";
import { taskInfo } from "./task-info.ts";
import type { WorkerLanes } from "./worker-lanes.ts";

/** Longest delay that a timer takes. */
const MAX_TIMER_MS = 2_147_483_647;

/** What dispatches work with. */
export interface DispatchParts {
  readonly balancer: DispatchingLoadBalancerLike;
  readonly context: LoadBalancerContextView;
  readonly members: ReadonlyMap<string, Member>;
  readonly lanes: WorkerLanes;
  readonly connector: Connector;
  /** The dispatches whose task is with the balancer and nowhere else. */
  readonly held: Set<TaskDispatch>;
}

/** A task on its way to a worker. */
interface Sending {
  readonly uid: string;
  readonly resolve: (stream: ResultStream) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout | undefined;
}

/**
 * The dispatch of one call by a balancer that dispatches itself. Lets the call be at one worker at most.
 * `held`: the balancer has it. `waiting`: it waits for a worker that the balancer chose. `sent`: handed to the connection.
 * `accepted`: the worker has started it. `over`.
 */
export class TaskDispatch implements AttemptListener, WaitingPlace {
  readonly #parts: DispatchParts;
  #call: Call;
  #state: "held" | "waiting" | "sent" | "accepted" | "over" = "held";
  /** How many times the balancer was asked: only the handle that it was given last can send. */
  #round = 0;
  #sending: Sending | undefined;
  #stream: ResultStream | undefined;
  #streamEnded: ((outcome: DispatchOutcome) => void) | undefined;

  constructor(call: Call, parts: DispatchParts) {
    this.#call = call;
    this.#parts = parts;
    follow(call, this);
    const { onStarted } = call;
    call.onStarted = () => {
      onStarted?.();
      this.#accepted();
    };
    this.#hold();
  }

  get call(): Call {
    return this.#call;
  }

  /** Asks the balancer to dispatch the task. */
  start(): void {
    // The balancer may have closed the pool when it was asked about another.
    if (this.#state === "over") return;
    const { balancer, context } = this.#parts;
    const round = ++this.#round;
    const task: DispatchableTask = {
      ...taskInfo(this.#call),
      sendTo: (uid, options) => this.#sendTo(round, uid, options),
    };
    const { acceptBy } = this.#call.extras ?? {};
    const timeout = acceptBy === undefined ? undefined : Math.max(0, acceptBy - performance.now());
    // Called in a promise, so that what it throws is what it rejects with.
    new Promise<unknown>((resolve) => resolve(balancer.dispatch(task, { context, timeout }))).then(
      (stream) => this.#dispatched(round, stream),
      (error: unknown) => this.#fail(round, error),
    );
  }

  handed(): void {
    this.#state = "sent";
    clearTimeout(this.#sending?.timer);
  }

  ended(status: DispatchOutcome["status"]): void {
    if (this.#state === "over") return;
    if (status === "done" || status === "failed") this.#accepted();
    this.#end(
      status,
      new TaskCancelled(`nobody waits for ${this.#name} any more: it was cancelled or its time was over`),
    );
  }

  /** A worker does not run the call and will not. */
  refused(error: Error): void {
    if (this.#state === "over") return;
    if (this.#state === "accepted") {
      this.#endStream("rejected");
      this.#hold();
      this.start();
      return;
    }
    this.#hold();
    this.#rejectSending(error);
  }

  /** The worker is gone with the call. `again`: it may be tried once more. */
  lost(error: Error, again: boolean): void {
    if (!again) {
      this.#end("lost", error);
      return;
    }
    this.#endStream("lost");
    this.#hold();
    this.#rejectSending(error);
    // The dispatch so far counts no more, whatever the balancer makes of the loss.
    this.start();
  }

  /** The worker has not the code of the call; this one in its place brings it along, to the same worker. */
  remade(call: Call): void {
    this.#call = call;
    const member = this.#parts.members.get(this.#sending?.uid ?? "");
    if (member === undefined) this.refused(this.#absent(this.#sending?.uid ?? ""));
    else this.#waitFor(member);
  }

  withdraw(call: Call): void {
    this.#parts.held.delete(this);
    call.place = undefined;
  }

  get #name(): string {
    return this.#call.route.name;
  }

  #sendTo(round: number, uid: string, options: SendOptions = {}): Promise<ResultStream> {
    const sent = new Promise<ResultStream>((resolve, reject) => {
      const problem = this.#problem(round, uid, options);
      if (problem !== undefined) throw problem;
      const member = this.#parts.members.get(uid);
      if (member === undefined) throw this.#absent(uid);
      const { timeout } = options;
      const timer = isTimed(timeout) ? setTimeout(() => this.#noRoom(uid, timeout), timeout) : undefined;
      this.#sending = { uid, resolve, reject, timer };
      this.withdraw(this.#call);
      this.#waitFor(member);
    });
    // A balancer need not listen: what it must know reaches the caller as well.
    sent.catch(() => undefined);
    return sent;
  }

  /** Why the task cannot be sent now. */
  #problem(round: number, uid: string, { timeout }: SendOptions): WoolError | undefined {
    if (this.#state === "over" || round !== this.#round) {
      return new TaskCancelled(`${this.#name} cannot be sent to worker ${uid}: this dispatch of it is over`);
    }
    if (this.#state !== "held") {
      return new InvalidArgument(
        `${this.#name} cannot be sent to worker ${describeValue(uid)}: it has been sent to worker ` +
          `${describeValue(this.#sending?.uid ?? this.#stream?.uid)}, and a task is executed by at most one; ` +
          "await sendTo(), and try another worker only when it rejects with an RpcError",
      );
    }
    if (timeout === undefined || (typeof timeout === "number" && timeout >= 0)) return undefined;
    return new InvalidArgument(
      `sendTo(): option "timeout" must be a number of milliseconds, zero or more, not ${describeValue(timeout)}`,
    );
  }

  #waitFor(member: Member): void {
    const { lanes, connector } = this.#parts;
    this.#state = "waiting";
    if (member.link.state === "idle") connector.connectTo(member);
    lanes.add(this.#call, member, true);
    lanes.distributeTo(member);
  }

  #noRoom(uid: string, timeout: number): void {
    if (this.#state !== "waiting") return;
    this.#call.place?.withdraw(this.#call);
    const message = `worker ${uid} had no room for ${this.#name} within the timeout of ${timeout} ms`;
    this.refused(new TransientRpcError(message, StatusCode.DEADLINE_EXCEEDED));
  }

  #absent(uid: string): TransientRpcError {
    return new TransientRpcError(`worker ${describeValue(uid)} is not in the pool`, StatusCode.UNAVAILABLE);
  }

  #accepted(): void {
    const sending = this.#sending;
    if (this.#state !== "sent" || sending === undefined) return;
    this.#state = "accepted";
    const ended = new Promise<DispatchOutcome>((resolve) => {
      this.#streamEnded = resolve;
    });
    this.#stream = { uid: sending.uid, ended };
    this.#sending = undefined;
    sending.resolve(this.#stream);
  }

  #dispatched(round: number, stream: unknown): void {
    if (round !== this.#round || this.#state === "over") return;
    if (this.#state === "accepted" && stream === this.#stream) return;
    const problem =
      this.#state === "held"
        ? "without having sent the task to a worker"
        : "with something else than its sendTo() gave";
    this.#fail(
      round,
      new InvalidArgument(
        `dispatch() of the load balancer, ${describeValue(this.#parts.balancer)}, resolved for ${this.#name} ` +
          `with ${describeValue(stream)}, ${problem}: it must return what task.sendTo(uid) resolves with`,
      ),
    );
  }

  #fail(round: number, error: unknown): void {
    if (round !== this.#round || this.#state === "over") return;
    const call = this.#call;
    const state = this.#state;
    this.#end("cancelled", new TaskCancelled(`the dispatch of ${this.#name} failed`));
    if (state === "held" || state === "waiting") {
      call.place?.withdraw(call);
      failCall(call, error);
      return;
    }
    call.session?.cancel(call, error);
    call.reject(new RemoteFailure(error));
  }

  #hold(): void {
    this.#state = "held";
    this.#parts.held.add(this);
    this.#call.place = this;
  }

  #end(status: DispatchOutcome["status"], error: Error): void {
    this.#state = "over";
    this.#rejectSending(error);
    this.#endStream(status);
  }

  #rejectSending(error: Error): void {
    const sending = this.#sending;
    this.#sending = undefined;
    clearTimeout(sending?.timer);
    sending?.reject(error);
  }

  #endStream(status: DispatchOutcome["status"]): void {
    this.#streamEnded?.({ status });
    this.#streamEnded = undefined;
    this.#stream = undefined;
  }
}

function isTimed(timeout: number | undefined): timeout is number {
  return timeout !== undefined && timeout <= MAX_TIMER_MS;
}
