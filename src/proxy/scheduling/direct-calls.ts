import { type Call, type CallOwner, RemoteFailure } from "../../call/index.ts";
import type { Session } from "../../connection/index.ts";
import { PoolClosed } from "../../errors.ts";
import type { Member } from "../members/index.ts";

/** Owns calls that are meant for one worker and no other: a refusal is final. */
export function directOwner(member: Member): CallOwner {
  return {
    rejected: (call, error) => call.reject(new RemoteFailure(error)),
    returned: (call, error) => call.reject(new RemoteFailure(error)),
    remade: (call) => void sendDirectly(call, member),
    lost: (call, error) => call.reject(new RemoteFailure(error)),
  };
}

/** Hands a call to one worker, room or not. */
export async function sendDirectly(call: Call, member: Member): Promise<void> {
  try {
    await member.link.connect();
    const session = member.link.sessions.reduce<Session | undefined>(
      (least, next) => (least === undefined || next.inFlight < least.inFlight ? next : least),
      undefined,
    );
    if (session === undefined) throw new PoolClosed(`the connection to ${member.link.address} is closed`);
    call.worker = member.uid;
    call.tally = member.tally;
    if (call.state === "waiting") session.send([call], 0, 1);
  } catch (error) {
    call.reject(new RemoteFailure(error));
  }
}
