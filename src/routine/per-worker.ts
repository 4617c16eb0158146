import { types } from "node:util";
import { checkFunction } from "../checks/index.ts";
import { byReference, PortableIds } from "../functions/index.ts";
import { registerTraveller, traveller } from "../values/index.ts";

/** Something that is made where it is used, once in each task thread. */
export interface PerWorker<T> {
  /**
   * The value of this thread: made at the first call, the same one after that. Throws what `create` throws. After that,
   * or after a promise that rejected, the next call tries again.
   */
  get(): T;
}

/** The kind by which a handle travels. */
export const PER_WORKER = "per-worker";

type Create = () => unknown;
type Dispose = (value: never) => unknown;

/** A value that a thread keeps until it ends. */
interface KeptValue {
  made: { readonly value: unknown } | undefined;
  readonly dispose: Dispose | undefined;
  /** Names its origin, for messages. */
  readonly origin: string;
}

/** The state of a `perWorker` in one thread, shared by all copies of the handle there. */
class ThreadState implements KeptValue {
  readonly create: Create;
  readonly dispose: Dispose | undefined;
  readonly origin = "perWorker()";
  made: { readonly value: unknown } | undefined;

  constructor(create: Create, dispose: Dispose | undefined) {
    this.create = create;
    this.dispose = dispose;
  }
}

interface Handle<T> extends PerWorker<T> {
  [STATE]: ThreadState;
}

const STATE = Symbol("state");
const ids = new PortableIds<ThreadState>();
/** The states that have a value, in the order in which the values were made. */
const made = new Set<KeptValue>();

/**
 * Says how to make something that cannot travel, or should not be made for each call: a database client, a cache, a
 * schema. Each task thread makes it once, when a task asks for it with `get()`. The handle can be captured and passed.
 * Throws `InvalidArgument` for anything but functions.
 *
 * @param create - makes it; may be asynchronous, then `get()` returns the promise
 * @param dispose - ends it when the worker stops gracefully. Without one its `Symbol.asyncDispose` or `Symbol.dispose`
 * method is called, if it has one
 */
export function perWorker<T>(create: () => T, dispose?: (value: Awaited<T>) => unknown): PerWorker<T> {
  checkFunction(create, "perWorker()", "a function that makes the value, such as () => new Client()");
  if (dispose !== undefined) {
    checkFunction(dispose, "perWorker()", "a function that ends the value as its second argument");
  }
  return handleOf<T>(new ThreadState(create, dispose));
}

function handleOf<T>(state: ThreadState): Handle<T> {
  const handle: Handle<T> = { get: () => valueOf(handle[STATE]) as T, [STATE]: state };
  Object.defineProperty(handle, STATE, { enumerable: false });
  Object.defineProperty(handle, traveller, { value: PER_WORKER });
  Object.defineProperty(handle, byReference, { value: state.create });
  return handle;
}

function valueOf(state: ThreadState): unknown {
  if (state.made !== undefined) return state.made.value;
  const { create } = state;
  const own = { value: create() };
  state.made = own;
  made.add(state);
  if (types.isPromise(own.value)) {
    own.value.catch(() => {
      if (state.made === own) forget(state);
    });
  }
  return own.value;
}

function forget(state: KeptValue): void {
  state.made = undefined;
  made.delete(state);
}

/** Disposes of a value when this thread ends: calls a function, and the dispose method of anything else. */
export function keepForThread(value: unknown, origin: string): void {
  made.add({ made: { value }, dispose: typeof value === "function" ? () => value() : undefined, origin });
}

/**
 * Disposes of everything that this thread has made with `perWorker` or keeps: the newest first, one after the other. A
 * failure is reported as a warning and does not stop the disposal of the others.
 */
export async function disposeThreadValues(): Promise<void> {
  for (const state of [...made].reverse()) {
    const { made: own, dispose, origin } = state;
    forget(state);
    try {
      const value: unknown = await own?.value;
      await (dispose === undefined ? disposeOf(value) : dispose(value as never));
    } catch (error) {
      process.emitWarning(`disposing of a value that ${origin} made failed: ${String(error)}`, {
        type: "WoolWarning",
        code: "WOOL_PER_WORKER_DISPOSAL",
      });
    }
  }
}

function disposeOf(value: unknown): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return undefined;
  for (const key of [Symbol.asyncDispose, Symbol.dispose]) {
    const method: unknown = Reflect.get(value, key);
    if (typeof method === "function") return Reflect.apply(method, value, []);
  }
  return undefined;
}

registerTraveller(PER_WORKER, {
  take: (value) => {
    const state = (value as Handle<unknown>)[STATE];
    return [ids.identify(state), state.create, state.dispose];
  },
  make: () => {
    const handle = handleOf<unknown>(new ThreadState(unfinished, undefined));
    return {
      value: handle,
      complete: ([id, create, dispose]) => {
        handle[STATE] = stateOf(String(id), create as Create, dispose as Dispose | undefined);
      },
    };
  },
});

/** The state that this thread has under an id. The first copy of a handle brings it. */
function stateOf(id: string, create: Create, dispose: Dispose | undefined): ThreadState {
  const known = ids.find(id);
  if (known !== undefined) return known;
  const state = new ThreadState(create, dispose);
  ids.adopt(state, id);
  return state;
}

function unfinished(): never {
  throw new TypeError("this handle of perWorker() cannot be used yet: the value that holds it is still being decoded");
}
