import type { FrameReader } from "../../../wire/index.ts";
import { messageWeight } from "../../shared/index.ts";
import { FairRing, type TurnTaker } from "./fair-ring.ts";

/** Weight of the messages of one session above which nothing more is read from its caller. */
const HOLD_WEIGHT = 4 * 1024 * 1024;
/**
 * The same for all sessions together: with many sessions, each has a share of it. A session may always have one
 * message.
 */
const TOTAL_WEIGHT = 64 * 1024 * 1024;
/** The part of that limit below which reading goes on. */
const RESUME_SHARE = 0.25;

/** The messages of one session that are not finished. */
export class SessionInbox {
  readonly messages: FrameReader[] = [];
  weight = 0;
  /** Whether the session takes part in the turns. */
  isInRing = false;
  /** Whether reading from its caller is paused. */
  isHeld = false;
}

/** A session with messages. */
export interface InboxOwner extends TurnTaker {
  readonly inbox: SessionInbox;
}

/**
 * Messages of sessions that have not been worked off. Callers take turns, so that one with a great deal to do, or with many
 * sessions, delays others by one turn at most.
 */
export class FairInbox<S extends InboxOwner> {
  readonly #hold: (session: S, isHeld: boolean) => void;
  /** Sessions with messages. */
  readonly #ring = new FairRing<S>();

  /** `hold` is called when nothing more should be read from the caller of a session, and when reading may go on. */
  constructor(hold: (session: S, isHeld: boolean) => void) {
    this.#hold = hold;
  }

  /** How many sessions have something to do. */
  get size(): number {
    return this.#ring.size;
  }

  /** How many callers those belong to. */
  get parties(): number {
    return this.#ring.parties;
  }

  /** The session whose turn it is: the first of its messages is next. */
  get current(): S | undefined {
    return this.#ring.current;
  }

  /** Adds a message that the reader has opened. */
  add(session: S, message: FrameReader): void {
    const { inbox } = session;
    inbox.messages.push(message);
    inbox.weight += messageWeight(message.buffer.length);
    this.wake(session);
    if (inbox.weight > this.#holdWeight) this.#setHeld(session, true);
  }

  /** The current message is finished, and is returned. The next session gets its turn. */
  done(): FrameReader | undefined {
    const session = this.#ring.current;
    const message = session?.inbox.messages.shift();
    if (session === undefined || message === undefined) return undefined;
    const { inbox } = session;
    inbox.weight -= messageWeight(message.buffer.length);
    inbox.isInRing = inbox.messages.length > 0;
    this.#ring.pass(!inbox.isInRing);
    if (inbox.weight === 0 || inbox.weight < this.#holdWeight * RESUME_SHARE) this.#setHeld(session, false);
    return message;
  }

  /** The current message is not finished. It goes on after all others had their turn. */
  yieldTurn(): void {
    this.#ring.pass();
  }

  /** The current session has no turns until `wake`. */
  suspend(): void {
    const session = this.#ring.current;
    if (session === undefined) return;
    session.inbox.isInRing = false;
    this.#ring.remove(session);
  }

  /** Gives a session its turns if it has messages. */
  wake(session: S): void {
    const { inbox } = session;
    if (inbox.isInRing || inbox.messages.length === 0) return;
    inbox.isInRing = true;
    this.#ring.add(session);
  }

  /** Drops the messages of a session. */
  drop(session: S): void {
    session.inbox.messages.length = 0;
    session.inbox.isInRing = false;
    this.#ring.remove(session);
  }

  get #holdWeight(): number {
    return Math.min(HOLD_WEIGHT, TOTAL_WEIGHT / this.#ring.size);
  }

  #setHeld(session: S, isHeld: boolean): void {
    if (session.inbox.isHeld === isHeld) return;
    session.inbox.isHeld = isHeld;
    this.#hold(session, isHeld);
  }
}
