import type { WorkerMetadata } from "../../discovery/index.ts";

/** What becomes of a worker between its start and its stop. */
export type WorkerChange =
  /** It cannot be reached any more; `final` unless it comes back by itself. */
  | { readonly kind: "lost"; readonly metadata: WorkerMetadata; readonly reason: string; readonly final: boolean }
  /** It is back, and this is how it is reached now. */
  | { readonly kind: "back"; readonly metadata: WorkerMetadata };

/** Told of each change of a worker. */
export type WorkerListener = (change: WorkerChange) => void;
