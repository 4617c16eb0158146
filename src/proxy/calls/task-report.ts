import { type Call, type CallEnd, type CallWatcher, nextSequence, taskId } from "../../call/index.ts";
import { TaskTimeout } from "../../errors.ts";
import { processId } from "../../functions/index.ts";
import type { CallContext, CallOptions, RoutineSpec } from "../../routine/index.ts";
import { areTasksObserved, type TaskOutcome, TaskStages } from "../../telemetry/index.ts";

/** A worker may report a timeout before this process does. */
const TIMER_SLACK_MS = 2;

/** Tells observers of tasks about the stages of one call, as this process learns of them. */
export class TaskReport implements CallWatcher {
  readonly #stages: TaskStages;
  readonly #isStream: boolean;
  readonly #timeout: number | undefined;

  constructor({ sequence, route, extras, stream }: Call) {
    this.#isStream = stream !== undefined;
    this.#timeout = extras?.timeout;
    this.#stages = stagesOf(sequence, route.name, this.#isStream, extras?.caller, extras?.key);
    this.#stages.created();
  }

  started({ recipient }: Call): void {
    const stages = this.#stages;
    if (recipient === undefined) return;
    stages.scheduled(recipient.uid);
    stages.enter();
  }

  asked(): void {
    if (this.#stages.startedAt !== undefined) this.#stages.enter();
  }

  yielded(): void {
    this.#stages.enter();
    this.#stages.leave();
  }

  ended(_call: Call, how: CallEnd, error: unknown): void {
    const stages = this.#stages;
    const outcome = this.#outcomeOf(how, error);
    // A generator ends in the answer to a step.
    if (this.#isStream && stages.startedAt !== undefined && (outcome === "returned" || outcome === "threw")) {
      stages.enter();
    }
    stages.completed(outcome, error);
  }

  #outcomeOf(how: CallEnd, error: unknown): TaskOutcome {
    if (how === "done") return "returned";
    if (how === "lost") return "lost";
    if (!(error instanceof TaskTimeout)) return how === "failed" ? "threw" : "cancelled";
    return how === "cancelled" || this.#isOutOfTime() ? "timed-out" : "threw";
  }

  /** A task may throw a `TaskTimeout` of a call that it made itself, and still have time left. */
  #isOutOfTime(): boolean {
    const { startedAt } = this.#stages;
    if (this.#timeout === undefined || startedAt === undefined) return false;
    return performance.now() - startedAt > this.#timeout - TIMER_SLACK_MS;
  }
}

/** Tells observers of tasks about a call that ended where it was made: no worker ever had it. */
export function reportRefusal(
  spec: RoutineSpec,
  context: CallContext | undefined,
  options: CallOptions | undefined,
  outcome: "threw" | "cancelled",
  error: unknown,
): void {
  if (!areTasksObserved()) return;
  const stages = stagesOf(nextSequence(), spec.name, spec.streams, context?.task?.id, options?.key);
  stages.created();
  stages.completed(outcome, error);
}

function stagesOf(
  sequence: number,
  name: string,
  isStream: boolean,
  caller: string | undefined,
  key: string | undefined,
): TaskStages {
  return new TaskStages({
    id: taskId(processId, sequence),
    ...(caller === undefined ? {} : { caller }),
    name,
    tag: name,
    ...(key === undefined ? {} : { key }),
    kind: isStream ? "stream" : "call",
  });
}
