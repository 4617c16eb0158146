import { InvalidArgument } from "../errors.ts";
import { registerTraveller, type TravellerPort, traveller, ValueRefusal } from "../values/index.ts";
import { contentOf, receivedContent, SharedContent } from "./shared-content.ts";

/** A value that is sent once to each worker that needs it. A handle: pass it to routines, or capture it. */
export interface Shared<T> extends Disposable {
  /**
   * Where it was shared: the value itself. In a task: a frozen copy, the same one for all tasks of the thread. Binary
   * data is not frozen. It is in memory that all threads of the worker share, so tasks must not change it. Throws
   * `InvalidArgument` after the handle was disposed of.
   */
  readonly value: T;
  /** Lets workers drop the value. Calls that already use it continue; new ones fail. */
  [Symbol.dispose](): void;
}

/** The kind by which a handle travels. */
export const SHARED_VALUE = "shared-value";

/**
 * The state of a handle.
 *
 * - `given`: a value that nobody has asked for yet.
 * - `encoded`: its content is known, made here or received.
 * - `disposed`: the handle was disposed of.
 * - `missing`: the sender dropped the value before it was asked for.
 */
type HandleState =
  | { readonly kind: "given"; readonly value: unknown }
  | {
      readonly kind: "encoded";
      readonly content: SharedContent;
      readonly given: { readonly value: unknown } | undefined;
    }
  | { readonly kind: "disposed" | "missing" };

class SharedValue<T> implements Shared<T> {
  #state: HandleState;

  constructor(state: HandleState) {
    this.#state = state;
  }

  get value(): T {
    const state = this.#state;
    if (state.kind === "given") return state.value as T;
    if (state.kind === "encoded") return (state.given ?? state.content).value as T;
    throw new InvalidArgument(`the value of this handle ${reasons[state.kind]}. ${fixes[state.kind]}`);
  }

  /** The content that a call sends for it. Encodes the value at the first use. Throws `ValueRefusal`. */
  get content(): SharedContent {
    const state = this.#state;
    if (state.kind === "encoded") return state.content;
    if (state.kind !== "given")
      throw new ValueRefusal(this, `this shared value ${reasons[state.kind]}`, fixes[state.kind]);
    const content = SharedContent.of(state.value, this);
    content.addHandle();
    this.#state = { kind: "encoded", content, given: { value: state.value } };
    return content;
  }

  /** Its content, if it is encoded. */
  get encoded(): SharedContent | undefined {
    return this.#state.kind === "encoded" ? this.#state.content : undefined;
  }

  /** Whether it can be used in calls. */
  get isUsable(): boolean {
    return this.#state.kind === "given" || this.#state.kind === "encoded";
  }

  /** Sets the state once the value has arrived. */
  complete(state: HandleState): void {
    this.#state = state;
    if (state.kind === "encoded") state.content.addHandle();
  }

  [Symbol.dispose](): void {
    const { encoded } = this;
    if (this.isUsable) this.#state = { kind: "disposed" };
    encoded?.removeHandle();
  }

  get [traveller](): string {
    return SHARED_VALUE;
  }
}

const reasons = {
  disposed: "was disposed of",
  missing: "is gone: its owner has disposed of it or lost it",
} as const;

const fixes = {
  disposed: "Dispose of it after the last call that uses it.",
  missing: "Keep the handle that share() returned for as long as calls use it.",
} as const;

/**
 * Shares a large value that calls only read: a model, a table, a lookup. It is encoded once, at the first call that
 * uses the handle, and sent once to each worker that needs it; calls send a hash. Do not change the value after that.
 * Workers keep the most recently used values, up to their `shareBudget`, until the handle is disposed of or collected.
 */
export function share<T>(value: T): Shared<T> {
  return new SharedValue<T>({ kind: "given", value });
}

/** Whether a handle of `share` can be used in calls; undefined for anything else. */
export function isUsableHandle(value: object): boolean | undefined {
  return value instanceof SharedValue ? value.isUsable : undefined;
}

function handleIn(value: object): SharedValue<unknown> {
  if (value instanceof SharedValue) return value;
  throw new ValueRefusal(
    value,
    "a handle of another copy of wool-ts is not known here",
    "Install one copy of wool-ts.",
  );
}

/** Whether the value itself travels, because the receiver does not have it and cannot ask for it. */
function goesAlong({ encoded }: SharedValue<unknown>, { policy }: TravellerPort): boolean {
  if (policy?.holds === undefined) return false;
  return encoded === undefined || !policy.holds(encoded.hash);
}

registerTraveller(SHARED_VALUE, {
  take: (value, port) => {
    const handle = handleIn(value);
    if (!handle.isUsable) return [handle.content];
    return goesAlong(handle, port) ? [null, handle.value] : [handle.content.hash];
  },
  needs: (value, port) => {
    // The receiver of a result has the value, or gets it with the result.
    return port.policy?.holds === undefined ? handleIn(value).content.needs : [];
  },
  way: (value) => {
    const { bytes } = handleIn(value).content;
    return `a shared value: calls send its hash, and each worker gets its ${bytes} bytes once`;
  },
  make: ({ policy }) => {
    const handle = new SharedValue<unknown>({ kind: "missing" });
    return {
      value: handle,
      complete: ([hash, value]) => {
        if (typeof hash !== "string") handle.complete({ kind: "given", value });
        else {
          const content = policy?.isCall === true ? receivedContent(hash) : contentOf(hash);
          if (content !== undefined) handle.complete({ kind: "encoded", content, given: undefined });
        }
      },
    };
  },
});
