import type { Call, PoolReference, Recipient, Tally } from "../../call/index.ts";
import { acquireLink, type LinkListener, releaseLink } from "../../connection/index.ts";
import { runsLanguage, type WorkerMetadata } from "../../discovery/index.ts";
import type { WorkerCredentialsProvider } from "../../security/index.ts";
import { type CallerLimits, DEFAULT_LANGUAGE } from "../../wire/index.ts";

/** A task thread of a worker, as a scheduler sees it. */
export interface MemberSession {
  readonly isOpen: boolean;
  /** Calls that were sent and have not ended. */
  readonly inFlight: number;
  /** Calls that may be sent now. */
  readonly room: number;
  /** Sends calls in one message. `soon`: together with everything else that is sent in this turn of the event loop. */
  send(calls: readonly Call[], recipient: Recipient, soon?: boolean): void;
  /** Tells the worker what has changed in a pool, if it runs tasks that may make calls there. */
  refresh(pool: PoolReference): void;
  /** The calls of `recipient` at this thread that somebody waits for. */
  callsOf(recipient: Recipient): Call[];
}

/** The connection to a worker, as a scheduler sees it. */
export interface MemberLink {
  readonly address: string;
  readonly state: "idle" | "connecting" | "ready" | "closed";
  /** One for each task thread; none while it is not connected. */
  readonly sessions: readonly MemberSession[];
  /** Calls at the worker, of every proxy of this process. */
  readonly inFlight: number;
  /** Whether somebody waits for one of these calls now. That keeps the program alive. */
  readonly isWaitedFor: boolean;
  /** False while the worker does not respond although it has calls. */
  readonly responds: boolean;
  /** Whether large payloads may pass through files. */
  readonly sharesFiles: boolean;
  connect(): Promise<void>;
}

/** A worker of a pool: its metadata, the connection to it, and the counts of its calls. */
export class Member implements Recipient {
  metadata: WorkerMetadata;
  readonly link: MemberLink;
  readonly tally: Tally = { inFlight: 0, done: 0, failed: 0 };
  /** Why it could not be reached at the last try. */
  failure: Error | undefined;
  /** It is not tried again before this time while others can be reached. On the clock of `performance.now`. */
  retryAt = 0;
  readonly #release: (gone: boolean) => void;

  /** `release` gives the connection back. */
  constructor(metadata: WorkerMetadata, link: MemberLink, release: (gone: boolean) => void = () => undefined) {
    this.metadata = metadata;
    this.link = link;
    this.#release = release;
  }

  /** A worker with the process's connection to it. */
  static join(
    metadata: WorkerMetadata,
    listener: LinkListener,
    credentials?: WorkerCredentialsProvider,
    limits?: CallerLimits,
  ): Member {
    const link = acquireLink(metadata.address, { ...metadata.channel, credentials, limits });
    link.listen(listener);
    return new Member(metadata, link, (gone) => {
      link.unlisten(listener);
      releaseLink(link, gone);
    });
  }

  get uid(): string {
    return this.metadata.uid;
  }

  /** Whether the worker runs routines whose code travels. */
  get isUsual(): boolean {
    return runsLanguage(this.metadata, DEFAULT_LANGUAGE);
  }

  /** Whether the worker limits how many tasks run at once. Its other tasks wait. */
  get isLimited(): boolean {
    return this.metadata.channel.maxConcurrency !== undefined;
  }

  /** The session with the fewest tasks among those that have room. */
  roomiest(): MemberSession | undefined {
    let best: MemberSession | undefined;
    for (const session of this.link.sessions) {
      if (session.room > 0 && (best === undefined || session.inFlight < best.inFlight)) best = session;
    }
    return best;
  }

  /** The calls at this worker that somebody waits for. */
  calls(): Call[] {
    return this.link.sessions.flatMap((session) => session.callsOf(this));
  }

  /** Gives the connection back; `gone`: the worker does not exist any more. */
  release(gone: boolean): void {
    this.#release(gone);
  }
}
