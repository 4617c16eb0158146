import type { Call, CallWatcher } from "../../call/index.ts";
import { PoolSaturated } from "../../errors.ts";
import type { Member } from "../members/index.ts";

/** Bounds how many calls wait for room at a worker. */
export class PendingLimit {
  readonly #most: number;
  readonly #members: ReadonlyMap<string, Member>;
  readonly #exempt = { waiting: 0 };

  constructor(most: number, members: ReadonlyMap<string, Member>) {
    this.#most = most;
    this.#members = members;
  }

  /**
   * Throws `PoolSaturated` when one more call would be too many. Calls that can be handed out in this turn of the event
   * loop do not count.
   *
   * @param queued - calls that have not been handed out
   * @param isFull - no worker that is connected has room
   * @param isFirst - workers have not been looked for yet: this call starts the search
   */
  check(queued: number, isFull: boolean, isFirst: boolean): void {
    const counted = queued - this.#exempt.waiting;
    if (counted < this.#most || this.#hasRoomFor(counted + 1 - this.#most, isFull, isFirst)) return;
    throw new PoolSaturated(
      `${counted} calls wait for a worker and maxPending is ${this.#most}: ` +
        "await some before making more, or use pool.map, which bounds the calls in flight",
    );
  }

  /** Does not count a call, because the code that made it bounds the number of such calls. */
  exempt(call: Call): void {
    call.watch(new ExemptCall(this.#exempt));
  }

  /** A worker that is not connected takes one call: it is connected when a call waits for it. */
  #hasRoomFor(calls: number, isFull: boolean, isFirst: boolean): boolean {
    let room = isFirst && this.#members.size === 0 ? 1 : 0;
    for (const { link } of this.#members.values()) {
      if (link.state === "idle" || link.state === "connecting") room++;
      else if (!isFull) for (const session of link.sessions) room += Math.max(0, session.room);
      if (room >= calls) return true;
    }
    return room >= calls;
  }
}

/** Counts a call while it waits. */
class ExemptCall implements CallWatcher {
  readonly #exempt: { waiting: number };
  #waits = false;

  constructor(exempt: { waiting: number }) {
    this.#exempt = exempt;
    this.#wait(true);
  }

  sent(): void {
    this.#wait(false);
  }

  requeued(): void {
    this.#wait(true);
  }

  ended(): void {
    this.#wait(false);
  }

  #wait(waits: boolean): void {
    if (waits === this.#waits) return;
    this.#waits = waits;
    this.#exempt.waiting += waits ? 1 : -1;
  }
}
