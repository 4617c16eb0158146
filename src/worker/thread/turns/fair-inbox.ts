import type { FrameReader } from "../../../wire/index.ts";
import { messageWeight } from "../../shared/index.ts";

/** Weight of messages of one session from which on nothing more is read from its caller. */
const HOLD_WEIGHT = 4 * 1024 * 1024;
/** The same for all sessions together, as far as each has a message at least: where there are many, each has a share. */
const TOTAL_WEIGHT = 64 * 1024 * 1024;
/** The part of that below which more is read again. */
const RESUME_SHARE = 0.25;

/** The messages of one session that have not been worked off. */
export class SessionInbox {
  readonly messages: FrameReader[] = [];
  weight = 0;
  /** Whether the session takes its turns. */
  isInRing = false;
  /** Whether its caller has been stopped from sending. */
  isHeld = false;
}

/** A session with messages. */
export interface InboxOwner {
  readonly inbox: SessionInbox;
}

/**
 * Messages of sessions that have not been worked off. Sessions take turns, so that one with a great deal to do delays others
 * by one turn at most.
 */
export class FairInbox<S extends InboxOwner> {
  readonly #hold: (session: S, isHeld: boolean) => void;
  /** Sessions with messages, the one whose turn it is first. */
  readonly #ring: S[] = [];

  /** `hold` is told when nothing more should be read from the caller of a session, and when again. */
  constructor(hold: (session: S, isHeld: boolean) => void) {
    this.#hold = hold;
  }

  /** How many sessions have something to do. */
  get size(): number {
    return this.#ring.length;
  }

  /** The session whose turn it is: the first of its messages is to be worked off. */
  get current(): S | undefined {
    return this.#ring[0];
  }

  /** Adds a message, which is in the reader. */
  add(session: S, message: FrameReader): void {
    const { inbox } = session;
    inbox.messages.push(message);
    inbox.weight += messageWeight(message.buffer.length);
    this.wake(session);
    if (inbox.weight > this.#holdWeight) this.#setHeld(session, true);
  }

  /** The message whose turn it was has been worked off, and is returned: the next session has its turn. */
  done(): FrameReader | undefined {
    const session = this.#ring.shift();
    const message = session?.inbox.messages.shift();
    if (session === undefined || message === undefined) return undefined;
    const { inbox } = session;
    inbox.weight -= messageWeight(message.buffer.length);
    if (inbox.messages.length > 0) this.#ring.push(session);
    else inbox.isInRing = false;
    if (inbox.weight === 0 || inbox.weight < this.#holdWeight * RESUME_SHARE) this.#setHeld(session, false);
    return message;
  }

  /** The message whose turn it was is not finished: it goes on after all others had their turn. */
  yieldTurn(): void {
    const session = this.#ring.shift();
    if (session !== undefined) this.#ring.push(session);
  }

  /** The session whose turn it was has none until `wake`. */
  suspend(): void {
    const session = this.#ring.shift();
    if (session !== undefined) session.inbox.isInRing = false;
  }

  /** A session takes its turns if it has messages. */
  wake(session: S): void {
    const { inbox } = session;
    if (inbox.isInRing || inbox.messages.length === 0) return;
    inbox.isInRing = true;
    this.#ring.push(session);
  }

  /** Forgets the messages of a session. */
  drop(session: S): void {
    session.inbox.messages.length = 0;
    session.inbox.isInRing = false;
    const index = this.#ring.indexOf(session);
    if (index >= 0) this.#ring.splice(index, 1);
  }

  get #holdWeight(): number {
    return Math.min(HOLD_WEIGHT, TOTAL_WEIGHT / this.#ring.length);
  }

  #setHeld(session: S, isHeld: boolean): void {
    if (session.inbox.isHeld === isHeld) return;
    session.inbox.isHeld = isHeld;
    this.#hold(session, isHeld);
  }
}
