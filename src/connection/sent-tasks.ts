import type { Call } from "../call/index.ts";
import { SentTask, type TaskSession } from "./sent-task.ts";

/** Told how a session is used. */
export interface SentTaskEvents {
  /** The session went from idle to busy, or back. */
  activity(busy: boolean): void;
  /** Somebody waits for a call now, or nobody does any more. */
  waitedFor(isWaitedFor: boolean): void;
}

/** The tasks of a session, by their ids, and how many of them are in flight. */
export class SentTasks {
  readonly #session: TaskSession;
  readonly #events: SentTaskEvents;
  readonly #tasks: SentTask[] = [];
  readonly #free: SentTask[] = [];
  #inFlight = 0;
  /** Streams among them whose caller has not asked for more. */
  #resting = 0;
  #isWaitedFor = false;

  constructor(session: TaskSession, events: SentTaskEvents) {
    this.#session = session;
    this.#events = events;
  }

  /** Tasks that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The task with this id, if the id is in use. Maybe nobody waits for the task. */
  get(id: number): SentTask | undefined {
    const task = this.#tasks[id];
    return task === undefined || task.state === "free" ? undefined : task;
  }

  /** The name of the last call that had this id. */
  nameOf(id: number): string | undefined {
    return this.#tasks[id]?.name;
  }

  /** The tasks that somebody waits for, each with its call. */
  waitedFor(): { readonly task: SentTask; readonly call: Call }[] {
    return this.#tasks.flatMap((task) => (task.call === undefined ? [] : [{ task, call: task.call }]));
  }

  /** Counts calls as in flight. `begin` is called for each of them. */
  expect(calls: readonly Call[]): void {
    if (this.#inFlight === 0) this.#events.activity(true);
    for (const { load } of calls) this.#inFlight += load;
  }

  /** Begins one of the tasks that `expect` counted. */
  begin(call: Call): SentTask {
    const task = this.#free.pop() ?? this.#add();
    task.begin(call);
    return task;
  }

  /** The worker has sent its final answer to a task. */
  release(task: SentTask): void {
    task.call?.leave();
    task.call = undefined;
    task.state = "free";
    this.#free.push(task);
    if (task.isResting) this.#resting--;
    task.isResting = false;
    this.#inFlight -= task.load;
    if (this.#inFlight === 0) this.#events.activity(false);
    this.tellIfWaitedFor();
  }

  /** So many calls of a task have their final answer. */
  ended(task: SentTask, count: number): void {
    task.left -= count;
    const lighter = Math.min(count, task.load - 1);
    task.load -= lighter;
    this.#inFlight -= lighter;
  }

  setWaitedFor(task: SentTask, isWaitedFor: boolean): void {
    if (task.isResting !== isWaitedFor) return;
    task.isResting = !isWaitedFor;
    this.#resting += isWaitedFor ? -1 : 1;
    this.tellIfWaitedFor();
  }

  tellIfWaitedFor(): void {
    const isWaitedFor = this.#inFlight > this.#resting;
    if (isWaitedFor === this.#isWaitedFor) return;
    this.#isWaitedFor = isWaitedFor;
    this.#events.waitedFor(isWaitedFor);
  }

  /** Forgets all tasks. */
  clear(): void {
    const busy = this.#inFlight > 0;
    this.#inFlight = 0;
    this.#resting = 0;
    this.#tasks.length = 0;
    this.#free.length = 0;
    if (busy) this.#events.activity(false);
    this.tellIfWaitedFor();
  }

  #add(): SentTask {
    const task = new SentTask(this.#tasks.length, this.#session);
    this.#tasks.push(task);
    return task;
  }
}
