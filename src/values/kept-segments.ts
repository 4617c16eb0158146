import { isObject } from "../checks/index.ts";
import { type ChangeCheck, type FunctionPort, ShippingError } from "./function-port.ts";
import { GraphWriter, type Segment } from "./graph/index.ts";
import { watchWritten } from "./object-watch.ts";
import { ValueRefusal } from "./value-refusal.ts";

/*
 * A value of a package may hold a thousand functions: to write it takes milliseconds, each time it is an argument. If
 * everything in it is the same, what was written for it before is used again. To see that takes a tenth of the time:
 * each object and function is compared with what it was.
 */

/** To compare values with fewer functions than this is not worth it. */
export const MANY_FUNCTIONS = 20;
/** When the first time takes this many milliseconds, a second time is likely enough to prepare for it. */
const SLOW = 50;
/** Larger values, in bytes and in objects, are written each time. */
const LARGEST = 1_000_000;
const MOST_OBJECTS = 20_000;
/** A value that has changed as often as this is likely to change again. */
const MOST_CHANGES = 3;

interface Kept {
  /** Undefined before its second time, and when it is not worth it. */
  readonly segment: Segment | undefined;
  readonly isSame: ChangeCheck;
  readonly rules: string | undefined;
  readonly changes: number;
}

/** What was written for arguments with many functions. Each is kept as long as the argument itself. */
export class KeptSegments {
  readonly #port: FunctionPort;
  readonly #kept = new WeakMap<object, Kept>();

  constructor(port: FunctionPort) {
    this.#port = port;
  }

  /** What was written for a value before; undefined when there is nothing, or when it may have changed. */
  find(value: unknown): Segment | undefined {
    const kept = isObject(value) ? this.#kept.get(value) : undefined;
    if (kept?.segment === undefined || !isObject(value)) return undefined;
    if (kept.rules === this.#port.rules?.() && kept.isSame()) return kept.segment;
    this.#note(value, kept.changes + 1);
    return undefined;
  }

  /**
   * Prepares for the next time, after values with functions were written in the capture under way.
   *
   * @param milliseconds - how long that took
   */
  prepare(values: readonly unknown[], milliseconds: number): void {
    for (const value of values) {
      if (!isObject(value)) continue;
      const known = this.#kept.get(value);
      if (known === undefined && milliseconds < SLOW) this.#note(value, 0);
      else if (known === undefined || (known.segment === undefined && known.changes < MOST_CHANGES)) {
        this.#keep(value, known?.changes ?? 0);
      }
    }
  }

  #note(value: object, changes: number): void {
    this.#kept.set(value, { segment: undefined, isSame: () => false, rules: undefined, changes });
  }

  #keep(value: object, changes: number): void {
    const writer = new GraphWriter(this.#port);
    const segment = writeSegment(writer, value);
    const isWorthIt = writer.functions >= MANY_FUNCTIONS && segment !== undefined && isSmall(segment);
    const isSame = isWorthIt ? this.#watch(segment) : undefined;
    if (segment === undefined || isSame === undefined) this.#note(value, MOST_CHANGES);
    else this.#kept.set(value, { segment, isSame, rules: this.#port.rules?.(), changes });
  }

  #watch({ numbers }: Segment): ChangeCheck | undefined {
    const checks: ChangeCheck[] = [];
    try {
      for (const value of numbers.keys()) {
        const found = watchWritten(value, this.#port);
        if (found === undefined) return undefined;
        checks.push(...found);
      }
    } catch (error) {
      // Watching looks further than writing does.
      if (error instanceof ShippingError) return undefined;
      throw error;
    }
    return () => checks.every((isSame) => isSame());
  }
}

function isSmall({ bytes, numbers }: Segment): boolean {
  return bytes.length <= LARGEST && numbers.size <= MOST_OBJECTS;
}

function writeSegment(writer: GraphWriter, value: object): Segment | undefined {
  try {
    return writer.writeSegment(value);
  } catch (error) {
    // It travels together with the other values, and is refused by itself: there may be too many functions by now.
    if (error instanceof ValueRefusal) return undefined;
    throw error;
  }
}
