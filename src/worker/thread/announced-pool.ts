import type { CallCarrier } from "../../routine/index.ts";

/** A pool as a session announces it. */
export interface AnnouncedPool {
  /** The fingerprint of the announcer's certificate; undefined without one. */
  readonly announcer: string | undefined;
  /** Its members, or those that changed, encoded. */
  readonly description: Uint8Array;
  /** Makes the balancer of the pool; undefined for the default one. */
  readonly balancer: (() => Promise<unknown>) | undefined;
}

/** A pool that a session has announced, until the session gives it back. */
export interface SessionPool extends CallCarrier {
  /** How many bytes of the announcements of sessions are kept. */
  readonly size: number;
  release(): void;
}
