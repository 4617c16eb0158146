import { acquireLink, type LinkListener, releaseLink, type Session, type WorkerLink } from "../../connection/index.ts";
import type { WorkerMetadata } from "../../discovery/index.ts";
import type { WorkerCredentialsProvider } from "../../security/index.ts";

/** A worker of a pool: what is known of it, the connection to it, and what it has done. */
export class Member {
  metadata: WorkerMetadata;
  readonly link: WorkerLink;
  readonly tally = { done: 0, failed: 0 };
  /** Why it could not be reached at the last try. */
  failure: Error | undefined;
  /** No sooner than this is it tried again, while others can be reached; on the clock of `performance.now`. */
  retryAt = 0;
  readonly #listener: LinkListener;

  constructor(metadata: WorkerMetadata, listener: LinkListener, credentials?: WorkerCredentialsProvider) {
    this.metadata = metadata;
    this.#listener = listener;
    const { keepaliveInterval, keepaliveTimeout } = metadata.channel;
    this.link = acquireLink(metadata.address, { keepaliveInterval, keepaliveTimeout, credentials });
    this.link.listen(listener);
  }

  get uid(): string {
    return this.metadata.uid;
  }

  /** The session with the fewest tasks among those that have room. */
  roomiest(): Session | undefined {
    let best: Session | undefined;
    for (const session of this.link.sessions) {
      if (session.window.room > 0 && (best === undefined || session.inFlight < best.inFlight)) best = session;
    }
    return best;
  }

  /** Gives the connection back; `gone` when the worker no longer exists. */
  release(gone: boolean): void {
    this.link.unlisten(this.#listener);
    releaseLink(this.link, gone);
  }
}
