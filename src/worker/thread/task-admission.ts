import { inspect } from "node:util";
import { messageOf } from "../../checks/index.ts";
import { decodeContext } from "../../context/index.ts";
import { StatusCode } from "../../grpc/index.ts";
import { type CallContext, runInCallContext } from "../../routine/index.ts";
import { describePeer } from "../../security/index.ts";
import type { AuthorizeLike, BackpressureLike } from "../shared/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { ReadyTask } from "./ready-task.ts";
import type { TaskRunner } from "./task-runner.ts";

/** What an admission needs of its executor. */
export interface AdmissionOwner {
  readonly runner: Pick<TaskRunner, "live" | "waiting" | "take">;
  /** Tells the caller of a task that it is not taken. */
  refuse(session: ExecutorSession, id: number, status: number, message: string): void;
}

/** The hooks, in the order in which they are called for each task. */
export interface AdmissionHooks {
  readonly authorize?: AuthorizeLike | undefined;
  readonly backpressure?: BackpressureLike | undefined;
}

/** One hook: what it is asked, and what its refusal means. */
interface Gate {
  readonly name: string;
  ask(ready: ReadyTask): unknown;
  /** The answer that lets a task pass. */
  readonly passes: boolean;
  readonly status: number;
  refusal(ready: ReadyTask): string;
}

/** Has hooks decide which tasks are taken. A hook that fails is a fault of the worker: the task is refused. */
export class TaskAdmission {
  readonly #gates: readonly Gate[];
  readonly #owner: AdmissionOwner;
  /** Tasks about which a hook has not decided yet. */
  readonly #asked = new Set<ReadyTask>();

  constructor({ authorize, backpressure }: AdmissionHooks, owner: AdmissionOwner) {
    this.#owner = owner;
    this.#gates = [
      ...(authorize === undefined ? [] : [authorization(authorize)]),
      ...(backpressure === undefined ? [] : [pressure(backpressure, owner)]),
    ];
  }

  /** Takes a task or refuses it, at once or when the hooks have decided. */
  ask(ready: ReadyTask): void {
    this.#enter(ready, 0);
  }

  /** The worker stops: refuses the tasks that a hook has not decided about. They were not run and will not be. */
  stop(): void {
    for (const ready of this.#asked) this.#refuse(ready, StatusCode.UNAVAILABLE, "the worker is stopping");
    this.#asked.clear();
  }

  #enter(ready: ReadyTask, index: number): void {
    const gate = this.#gates[index];
    if (gate === undefined) {
      this.#owner.runner.take(ready);
      return;
    }
    let answer: unknown;
    try {
      answer = gate.ask(ready);
    } catch (error) {
      this.#failed(ready, gate, error);
      return;
    }
    if (!(answer instanceof Promise)) {
      this.#answered(ready, index, gate, answer);
      return;
    }
    this.#asked.add(ready);
    answer.then(
      (settled) => {
        if (this.#asked.delete(ready)) this.#answered(ready, index, gate, settled);
      },
      (error: unknown) => {
        if (this.#asked.delete(ready)) this.#failed(ready, gate, error);
      },
    );
    ready.hold();
  }

  /** Handles the answer of a hook. The task may have been cancelled since the hook was asked. */
  #answered(ready: ReadyTask, index: number, gate: Gate, answer: unknown): void {
    if (answer === !gate.passes) this.#refuse(ready, gate.status, gate.refusal(ready));
    else if (answer !== gate.passes) {
      this.#failed(ready, gate, new TypeError(`it returned ${inspect(answer)}, not true or false`));
    } else if (ready.task.state === "ended") ready.args.drop();
    else this.#enter(ready, index + 1);
  }

  #failed(ready: ReadyTask, { name }: Gate, error: unknown): void {
    const reason = messageOf(error);
    this.#refuse(ready, StatusCode.INTERNAL, `its ${name} hook failed: ${reason}`);
  }

  #refuse(ready: ReadyTask, status: number, message: string): void {
    const { task } = ready;
    // A task that was cancelled meanwhile has been answered.
    if (task.state === "ended") return ready.args.drop();
    const { session, wireId } = task;
    session.tasks.delete(wireId);
    task.wireId = -1;
    task.state = "ended";
    task.dropEarly();
    this.#owner.refuse(session, wireId, status, message);
  }
}

function authorization(hook: AuthorizeLike): Gate {
  return {
    name: "authorize",
    ask: ({ task }) => {
      const { id, name, caller } = task;
      return hook({ peer: task.session.peer, task: { id, name, caller } });
    },
    passes: true,
    status: StatusCode.PERMISSION_DENIED,
    refusal: ({ task }) => `${describePeer(task.session.peer)} may not run ${task.name} here`,
  };
}

function pressure(hook: BackpressureLike, { runner }: AdmissionOwner): Gate {
  return {
    name: "backpressure",
    ask: (ready) => {
      const { id, name, caller } = ready.task;
      return asCaller(ready, () => hook({ task: { id, name, caller }, running: runner.live, waiting: runner.waiting }));
    },
    passes: false,
    status: StatusCode.RESOURCE_EXHAUSTED,
    refusal: () => "its backpressure hook refused the task",
  };
}

/**
 * Runs a hook with the context variables of the caller. If they cannot be read, the hook is not called and the task
 * passes: running it fails too, and tells the caller why.
 */
function asCaller(ready: ReadyTask, hook: () => unknown): unknown {
  const { context, needs, task } = ready;
  if (context === undefined) return hook();
  const loading = task.session.received.ready(needs);
  const ask = (): unknown => {
    let known: CallContext;
    try {
      known = decodeContext(task.session.decoder, context, 0, context.length);
    } catch {
      return false;
    }
    return runInCallContext(known, hook);
  };
  return loading === undefined ? ask() : loading.then(ask, () => false);
}
