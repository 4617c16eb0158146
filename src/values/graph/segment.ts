import type { Dependency } from "../function-port.ts";
import type { WeakCollection } from "../weak-collections.ts";

/** A value that was written by itself, and can be put into other payloads. */
export interface Segment {
  readonly bytes: Uint8Array;
  /** Everything in it that has a number. */
  readonly numbers: ReadonlyMap<unknown, number>;
  readonly hasReferences: boolean;
  readonly dependencies: readonly Dependency[];
  /** The weak collections in it. Their entries are at the end of the payload. */
  readonly collections: readonly WeakCollection[];
}
