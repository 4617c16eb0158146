import { types } from "node:util";
import { StepKind } from "../../../wire/index.ts";

/** Receives the output of a generator. */
export interface GeneratorOutput {
  /** The error of its caller is about to be thrown into it. */
  throwing?(error: unknown): void;
  yielded(value: unknown, control: boolean): void;
  returned(value: unknown): void;
  threw(error: unknown): void;
  /** Resolves when more values may be sent ahead of demand; undefined if they may be sent now. */
  relief?(): Promise<void> | undefined;
}

type AnyGenerator = AsyncGenerator<unknown, unknown, unknown> | Generator<unknown, unknown, unknown>;

interface Control {
  readonly kind: StepKind;
  readonly value: unknown;
  /** Plain steps to run before this one. */
  readonly after: number;
  /** Called when the step is taken. */
  readonly taken: (() => void) | undefined;
}

/** Runs `step` in the task's own context. */
export type InContext = <R>(step: () => R) => R;

/** Decides when a generator may run. */
export interface GeneratorTurns {
  /** Steps were asked for: calls `go`, at once or when it is the generator's turn. */
  due(go: () => void): void;
  /** The generator has taken all steps that were asked for, and has not ended. */
  rests(): void;
  /** Whether others should have their turn now. */
  isOver(): boolean;
  /** Calls `go` when it is the generator's turn again. */
  next(go: () => void): void;
}

/** Most steps that a generator runs before others have their turn. */
const STEPS_PER_TURN = 64;

const AT_ONCE: GeneratorTurns = {
  due: (go) => go(),
  rests: () => undefined,
  isOver: () => false,
  next: (go) => void setImmediate(go),
};

/**
 * Advances a generator as far as its caller allows: plain steps are counted as credit. Steps with a value, throws and
 * returns wait for the steps that were asked for before them. It takes one step at a time.
 */
export class GeneratorRun {
  readonly #generator: AnyGenerator;
  readonly #output: GeneratorOutput;
  readonly #inContext: InContext;
  readonly #turns: GeneratorTurns;
  #credit = 0;
  /** Plain steps run so far, without those that the caller has dropped. */
  #plain = 0;
  readonly #controls: Control[] = [];
  /** True from when a step is due until nothing is left to do. */
  #stepping = false;
  #over = false;
  /** The values of a synchronous generator may be promises. */
  readonly #synchronous: boolean;

  /** `turns` decides when it may run. Default: at once. */
  constructor(generator: AnyGenerator, output: GeneratorOutput, inContext: InContext, turns = AT_ONCE) {
    this.#generator = generator;
    this.#synchronous = !(Symbol.asyncIterator in generator);
    this.#output = output;
    this.#inContext = inContext;
    this.#turns = turns;
  }

  /** Whether it takes a step, or waits for its turn. */
  get isStepping(): boolean {
    return this.#stepping;
  }

  /** Plain steps that it may run and has not. */
  get allowed(): number {
    return this.#credit;
  }

  /** Plain steps that it has run, without those that the caller has dropped. */
  get plain(): number {
    return this.#plain;
  }

  /** Steps with a value, throws and returns that wait in the queue. */
  get queued(): number {
    return this.#controls.length;
  }

  /** Allows `steps` more plain steps. */
  credit(steps: number): void {
    this.#credit += steps;
    this.#wake();
  }

  /** Asks for one step with a value, an error, or a return. `taken` is called when the step is taken. */
  step(kind: StepKind, value: unknown, after: number, taken?: () => void): void {
    this.#controls.push({ kind, value, after, taken });
    if (kind !== StepKind.next) {
      // After a throw or return, plain steps beyond `after` do not count, even if they were run. The caller drops their
      // values, and goes on counting from the steps that it had asked for.
      this.#plain = Math.min(this.#plain, after);
      this.#credit = after - this.#plain;
    }
    this.#wake();
  }

  /** Ends the generator because nobody waits for it. Its `finally` blocks run, and their values are dropped. */
  async close(): Promise<void> {
    this.#over = true;
    try {
      await this.#inContext(() => this.#generator.return(undefined));
    } catch {
      // Nobody waits for it.
    }
  }

  #wake(): void {
    if (this.#stepping || this.#over || !this.#isDue) return;
    this.#stepping = true;
    this.#turns.due(() => void this.#pump());
  }

  /** Whether its caller has asked for a step. */
  get #isDue(): boolean {
    const control = this.#controls[0];
    return this.#credit > 0 || (control !== undefined && this.#plain >= control.after);
  }

  async #pump(): Promise<void> {
    for (let steps = 1; !this.#over && this.#isDue; steps++) {
      // Whoever runs ahead lets others have their turn, and does not run away from a caller that does not read.
      if (steps === STEPS_PER_TURN || this.#credit > STEPS_PER_TURN) await this.#output.relief?.();
      if (steps === STEPS_PER_TURN || (isLook(steps) && this.#turns.isOver())) {
        await new Promise<void>((resolve) => this.#turns.next(resolve));
        steps = 1;
      }
      // Its caller may have taken steps back meanwhile.
      if (this.#over || !this.#isDue) break;
      let kind: StepKind = StepKind.next;
      let value: unknown;
      const control = this.#controls[0];
      if (control !== undefined && this.#plain >= control.after) {
        this.#controls.shift();
        control.taken?.();
        ({ kind, value } = control);
      } else {
        this.#credit--;
        this.#plain++;
      }
      if (kind === StepKind.throw) this.#output.throwing?.(value);
      try {
        const result = await this.#advance(kind, value);
        // Asynchronous generators have already awaited their values.
        const given: unknown = this.#synchronous ? await result.value : result.value;
        if (!this.#over) this.#give(result.done === true, given, kind !== StepKind.next);
      } catch (error) {
        if (!this.#over) this.#fail(error);
      }
    }
    this.#stepping = false;
    if (!this.#over) this.#turns.rests();
  }

  #advance(
    kind: StepKind,
    value: unknown,
  ): IteratorResult<unknown, unknown> | Promise<IteratorResult<unknown, unknown>> {
    return this.#inContext(() => {
      const result = takeStep(this.#generator, kind, value);
      // The `then` of a value of a synchronous generator is code of the task, so it must run in the task's context.
      if (result instanceof Promise || !this.#synchronous || !isAwaited(result.value)) return result;
      return { done: result.done === true, value: Promise.resolve(result.value) };
    });
  }

  #give(done: boolean, value: unknown, control: boolean): void {
    if (!done) return this.#output.yielded(value, control);
    this.#over = true;
    this.#output.returned(value);
  }

  #fail(error: unknown): void {
    this.#over = true;
    this.#output.threw(error);
  }
}

/** Looks at the clock become rare while steps are quick, since each costs as much as a tenth of a trivial step. */
function isLook(steps: number): boolean {
  return steps > 1 && (steps & (steps - 1)) === 0;
}

function takeStep(
  generator: AnyGenerator,
  kind: StepKind,
  value: unknown,
): IteratorResult<unknown, unknown> | Promise<IteratorResult<unknown, unknown>> {
  if (kind === StepKind.next) return generator.next(value);
  return kind === StepKind.throw ? generator.throw(value) : generator.return(value);
}

/** Whether `await` may turn a value into another one. Its `then` is not read here: `await` reads it, once. */
export function isAwaited(value: unknown): value is object {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return "then" in value || types.isProxy(value);
}
