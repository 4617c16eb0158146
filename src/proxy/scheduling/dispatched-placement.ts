import type {
  DispatchableTask,
  DispatchingLoadBalancerLike,
  DispatchOutcome,
  ResultStream,
  SendOptions,
} from "../../balancing/index.ts";
import type { Call, CallEnd, CallWatcher } from "../../call/index.ts";
import { checkOption, describeValue, must } from "../../checks/index.ts";
import { InvalidArgument, TaskCancelled, TransientRpcError, type WoolError } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import { Timer } from "../../time/index.ts";
import { DEFAULT_LANGUAGE } from "../../wire/index.ts";
import type { Member } from "../members/index.ts";
import { isEligible } from "./eligible-workers.ts";
import { Placement } from "./placement.ts";
import type { Placements } from "./placements.ts";
import { listTags } from "./prospects.ts";

/** A task on its way to a worker. */
interface Sending {
  readonly uid: string;
  readonly resolve: (stream: ResultStream) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer | undefined;
}

/**
 * Lets a balancer dispatch a call itself, to at most one worker at a time. `held`: the balancer has it. `waiting`: it
 * waits for a worker that the balancer chose. `sent`: handed to the connection. `accepted`: the worker has started it.
 * `over`: the call has ended.
 */
export class DispatchedPlacement extends Placement implements CallWatcher {
  readonly #balancer: DispatchingLoadBalancerLike;
  #state: "held" | "waiting" | "sent" | "accepted" | "over" = "held";
  /** How many times the balancer was asked. Only the latest handle can send. */
  #round = 0;
  #sending: Sending | undefined;
  #stream: ResultStream | undefined;
  #streamEnded: ((outcome: DispatchOutcome) => void) | undefined;

  constructor(call: Call, placements: Placements, balancer: DispatchingLoadBalancerLike) {
    super(call, placements);
    this.#balancer = balancer;
    call.watch(this);
    this.#hold();
  }

  override ask(): void {
    // The balancer may have closed the pool while it was asked about another call.
    if (this.#state === "over") return;
    const { eligible, prospects } = this.placements.options;
    const hopeless = prospects.ofNeeds(this.call);
    if (hopeless !== undefined) {
      this.call.fail(hopeless);
      return;
    }
    const context = eligible.for(this.call);
    const round = ++this.#round;
    const task: DispatchableTask = {
      ...this.info,
      sendTo: (uid, options) => this.#sendTo(round, uid, options),
    };
    const { acceptBy } = this.call.extras ?? {};
    const timeout = acceptBy === undefined ? undefined : Math.max(0, acceptBy - performance.now());
    // Called in a promise, so that an error that it throws becomes a rejection.
    new Promise<unknown>((resolve) => resolve(this.#balancer.dispatch(task, { context, timeout }))).then(
      (stream) => this.#dispatched(round, stream),
      (error: unknown) => this.#fail(round, error),
    );
  }

  sent(): void {
    this.#state = "sent";
    this.#sending?.timer?.clear();
  }

  started(): void {
    this.#accepted();
  }

  ended(_call: Call, how: CallEnd): void {
    if (this.#state === "over") return;
    if (how === "done" || how === "failed") this.#accepted();
    const isSending = this.#sending !== undefined;
    const why = `nobody waits for ${this.#name} any more: it was cancelled or its time was over`;
    this.#end(how, isSending ? new TaskCancelled(why) : undefined);
  }

  override missed(error: Error): void {
    this.#refused(error);
  }

  override rejected(call: Call, error: Error): void {
    call.waitAgain(this, "rejected");
    this.placements.refusedBy(call.recipient?.uid ?? "", error);
    this.#refused(error);
  }

  override returned(call: Call, error: Error): void {
    call.waitAgain(this, "rejected");
    this.#refused(error);
  }

  /** The call goes to the same worker again. */
  override remade(call: Call): void {
    call.waitAgain(this, "rejected");
    const uid = this.#sending?.uid ?? "";
    const member = this.placements.options.members.get(uid);
    if (member === undefined) this.#refused(absent(uid));
    else this.#waitFor(member);
  }

  override lost(call: Call, error: Error): void {
    const again = call.canRunAgain;
    if (!again) this.#end("lost", error);
    call.lose(this, error);
    if (!again) return;
    this.#endStream("lost");
    this.#hold();
    this.#rejectSending(error);
    // The dispatch so far does not count any more, however the balancer handles the loss.
    this.ask();
  }

  #refused(error: Error): void {
    if (this.#state === "over") return;
    if (this.#state === "accepted") {
      this.#endStream("rejected");
      this.#hold();
      this.ask();
      return;
    }
    this.#hold();
    this.#rejectSending(error);
  }

  get #name(): string {
    return this.call.route.name;
  }

  #sendTo(round: number, uid: string, options: SendOptions = {}): Promise<ResultStream> {
    const sent = new Promise<ResultStream>((resolve, reject) => {
      const problem = this.#problem(round, uid);
      if (problem !== undefined) throw problem;
      const { timeout = Number.POSITIVE_INFINITY } = options;
      checkOption(timeout, must.duration, "sendTo()", "timeout");
      const member = this.placements.options.members.get(uid);
      if (member === undefined) throw absent(uid);
      if (!isEligible(member.metadata, this.call)) throw unfit(uid, this.call);
      const isTimed = timeout !== Number.POSITIVE_INFINITY;
      const timer = isTimed ? new Timer(timeout, () => this.#noRoom(uid, timeout)) : undefined;
      this.#sending = { uid, resolve, reject, timer };
      this.#waitFor(member);
    });
    // A balancer may ignore this promise: the caller learns of every error that matters.
    sent.catch(() => undefined);
    return sent;
  }

  /** Why the task cannot be sent now. */
  #problem(round: number, uid: string): WoolError | undefined {
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
    return undefined;
  }

  #waitFor(member: Member): void {
    this.#state = "waiting";
    if (member.link.state === "idle") this.placements.options.connector.connectTo(member);
    this.placements.queueFor(this, member, true);
    this.placements.distributeTo(member);
  }

  #noRoom(uid: string, timeout: number): void {
    if (this.#state !== "waiting") return;
    const message = `worker ${uid} had no room for ${this.#name} within the timeout of ${timeout} ms`;
    this.#refused(new TransientRpcError(message, StatusCode.DEADLINE_EXCEEDED));
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
        : "with a value that its sendTo() did not give";
    this.#fail(
      round,
      new InvalidArgument(
        `dispatch() of the load balancer, ${describeValue(this.#balancer)}, resolved for ${this.#name} ` +
          `with ${describeValue(stream)}, ${problem}: it must return what task.sendTo(uid) resolves with`,
      ),
    );
  }

  #fail(round: number, error: unknown): void {
    if (round !== this.#round || this.#state === "over") return;
    const isAtWorker = this.#state === "sent" || this.#state === "accepted";
    this.#end("cancelled", new TaskCancelled(`the dispatch of ${this.#name} failed`));
    if (isAtWorker) this.call.cancel(error);
    else this.call.fail(error);
  }

  #hold(): void {
    this.#state = "held";
    this.placements.hold(this);
  }

  #end(status: DispatchOutcome["status"], error: Error | undefined): void {
    this.#state = "over";
    if (error !== undefined) this.#rejectSending(error);
    this.#endStream(status);
  }

  #rejectSending(error: Error): void {
    const sending = this.#sending;
    this.#sending = undefined;
    sending?.timer?.clear();
    sending?.reject(error);
  }

  #endStream(status: DispatchOutcome["status"]): void {
    this.#streamEnded?.({ status });
    this.#streamEnded = undefined;
    this.#stream = undefined;
  }
}

function unfit(uid: string, { route, extras }: Call): InvalidArgument {
  const { needs = [] } = extras ?? {};
  const { language = DEFAULT_LANGUAGE } = route;
  const what = needs.length === 0 ? `is a function of ${language}` : `needs ${listTags(needs)}`;
  return new InvalidArgument(
    `${route.name} cannot be sent to worker ${uid}: it ${what}, which the worker does not have or run; ` +
      "context.workers has those that do",
  );
}

function absent(uid: string): TransientRpcError {
  return new TransientRpcError(`worker ${describeValue(uid)} is not in the pool`, StatusCode.UNAVAILABLE);
}
