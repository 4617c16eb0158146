import type { Call } from "../../call/index.ts";
import type { Session } from "../../connection/index.ts";
import type { Member } from "../members/index.ts";

/** Notes on a call which worker gets it. It must be sent right after. */
export function assign(call: Call, member: Member): void {
  call.worker = member.uid;
  call.tally = member.tally;
  call.place = undefined;
  call.attempts?.handed(member.uid);
}

/** Hands one call to a worker, in one message with those that it gets right after. */
export function handOver(call: Call, member: Member, session: Session): void {
  assign(call, member);
  session.send([call], 0, 1, true);
}

/** Follows a call from worker to worker with a listener, and tells it of the end. */
export function follow(call: Call, listener: NonNullable<Call["attempts"]>): void {
  const { resolve, reject } = call;
  call.attempts = listener;
  call.resolve = (value) => {
    listener.ended("done");
    resolve(value);
  };
  call.reject = (failure) => {
    listener.ended("failed");
    reject(failure);
  };
}
