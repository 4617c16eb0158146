import type { TaskInfo } from "../../balancing/index.ts";
import type { Call, CallOwner } from "../../call/index.ts";
import type { Placements } from "./placements.ts";

const NO_TAGS: readonly string[] = Object.freeze([]);

/**
 * Finds a worker for one call, as a balancer decides. Owns the call until a worker takes it, and again if one gives it
 * back.
 */
export abstract class Placement implements CallOwner {
  readonly call: Call;
  protected readonly placements: Placements;
  /** The shelf with this placement and others that wait for the same thing. */
  shelf: Set<Placement> | undefined;

  constructor(call: Call, placements: Placements) {
    this.call = call;
    this.placements = placements;
  }

  /** Asks the balancer. */
  abstract ask(): void;
  /** The worker that the call waits for cannot have it. */
  abstract missed(error: Error): void;
  abstract rejected(call: Call, error: Error): void;
  abstract returned(call: Call, error: Error): void;
  abstract remade(call: Call): void;
  abstract lost(call: Call, error: Error): void;

  withdraw(): void {
    this.placements.release(this);
    this.placements.options.withdrawn();
  }

  /** What balancers are told of the call. */
  protected get info(): TaskInfo {
    const { sequence, route, extras, args, stream } = this.call;
    return {
      sequence,
      name: route.name,
      key: extras?.key,
      needs: extras?.needs ?? NO_TAGS,
      kind: stream === undefined ? "call" : "stream",
      caller: extras?.caller,
      bytes: args.length,
    };
  }
}
