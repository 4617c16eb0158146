import type { Call, CallOwner } from "../../call/index.ts";
import { PoolClosed } from "../../errors.ts";
import type { Member, MemberSession } from "../members/index.ts";

/** Hands a call to one worker only, even if it has no room. A refusal is final. */
export class DirectCall implements CallOwner {
  readonly #member: Member;

  constructor(member: Member) {
    this.#member = member;
  }

  /** Sends the call as soon as the worker is connected. */
  async send(call: Call): Promise<void> {
    const { link } = this.#member;
    call.waitAt(this);
    try {
      await link.connect();
      const session = link.sessions.reduce<MemberSession | undefined>(
        (least, next) => (least === undefined || next.inFlight < least.inFlight ? next : least),
        undefined,
      );
      if (session === undefined) throw new PoolClosed(`the connection to ${link.address} is closed`);
      if (call.state === "waiting") session.send([call], this.#member);
    } catch (error) {
      call.fail(error);
    }
  }

  withdraw(): void {
    // Only `send` waits, for a connection, and it checks the state of the call.
  }

  rejected(call: Call, error: Error): void {
    call.fail(error);
  }

  returned(call: Call, error: Error): void {
    call.fail(error);
  }

  remade(call: Call): void {
    void this.send(call);
  }

  lost(call: Call, error: Error): void {
    call.fail(error);
  }
}
