import type { ExecutorSession } from "../executor-session.ts";
import type { GeneratorTurns } from "../routines/index.ts";
import type { RunningTask } from "../running-task.ts";
import type { LaterTurns, TimeSlice } from "./later-turns.ts";
import type { TaskParking } from "./task-parking.ts";
import { generatorTurns, restGenerator } from "./task-turns.ts";

/** Knows which generators rest: they have taken all steps that their callers asked for. */
export class RestingGenerators {
  readonly #parking: TaskParking | undefined;
  readonly #slice: TimeSlice;
  readonly #later: LaterTurns;
  readonly #rested: (session: ExecutorSession) => void;
  #count = 0;

  /**
   * `parking`: where tasks wait when no more may run at once; undefined if any number may. `rested`: called when a generator
   * has come to rest.
   */
  constructor(
    parking: TaskParking | undefined,
    slice: TimeSlice,
    later: LaterTurns,
    rested: (session: ExecutorSession) => void,
  ) {
    this.#rested = rested;
    this.#parking = parking;
    this.#slice = slice;
    this.#later = later;
  }

  get count(): number {
    return this.#count;
  }

  /** Decides when the generator of a task may run. */
  turnsOf(task: RunningTask): GeneratorTurns {
    const turns = this.#parking === undefined ? undefined : generatorTurns(task, this.#parking);
    return {
      due: (go) => {
        this.wakes(task);
        if (turns === undefined) go();
        else turns.due(go);
      },
      rests: () => {
        this.rests(task);
        this.#rested(task.session);
      },
      isOver: () => this.#slice.isOver,
      next: (go) => this.#later.wait(task.session, go),
    };
  }

  rests(task: RunningTask): void {
    if (task.state === "ended" || task.isResting) return;
    task.isResting = true;
    this.#count++;
    if (this.#parking !== undefined) restGenerator(task, this.#parking);
  }

  /** The generator has something to do, or has ended. */
  wakes(task: RunningTask): void {
    if (!task.isResting) return;
    task.isResting = false;
    this.#count--;
  }
}
