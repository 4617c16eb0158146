import type { DispatchOutcome, LoadBalancerContextView, LoadBalancerLike } from "../../balancing/index.ts";
import type { Call, CallEnd, CallWatcher } from "../../call/index.ts";
import { describeValue } from "../../checks/index.ts";

const warned = new WeakSet<LoadBalancerLike>();

/** Reports the attempts at a call to a balancer that wants to know. */
export function reportAttempts(call: Call, balancer: LoadBalancerLike, context: LoadBalancerContextView): void {
  if (balancer.settled !== undefined) call.watch(new AttemptReport(balancer, context));
}

/** Tells a balancer the outcome of each attempt at a call, exactly once. */
class AttemptReport implements CallWatcher {
  readonly #balancer: LoadBalancerLike;
  readonly #context: LoadBalancerContextView;
  /** The worker that has the call. */
  #uid: string | undefined;

  constructor(balancer: LoadBalancerLike, context: LoadBalancerContextView) {
    this.#balancer = balancer;
    this.#context = context;
  }

  sent(call: Call): void {
    this.#uid = call.recipient?.uid;
  }

  requeued(_call: Call, why: "rejected" | "lost"): void {
    this.#tell(why);
  }

  ended(_call: Call, how: CallEnd): void {
    this.#tell(how);
  }

  #tell(status: DispatchOutcome["status"]): void {
    const uid = this.#uid;
    if (uid === undefined) return;
    this.#uid = undefined;
    try {
      this.#balancer.settled?.(uid, { status }, this.#context);
    } catch (error) {
      this.#warn(error);
    }
  }

  /** Feedback that fails changes nothing for the call. */
  #warn(error: unknown): void {
    if (warned.has(this.#balancer)) return;
    warned.add(this.#balancer);
    process.emitWarning(
      `settled() of the load balancer, ${describeValue(this.#balancer)}, failed (reported once): ${String(error)}`,
      "WoolWarning",
    );
  }
}
