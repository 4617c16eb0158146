import type { PeerIdentity } from "../../security/index.ts";

/** What an `authorize` hook is told of a task that has arrived. */
export interface AuthorizeContext {
  /** Who sent it, as its certificate says; nothing without mutual TLS. For a nested call that is the calling worker. */
  readonly peer: PeerIdentity | undefined;
  /** The task. */
  readonly task: {
    readonly id: string;
    /** The routine's name, as the caller says. */
    readonly name: string;
    /** Id of the task that made the call, if one did. */
    readonly caller: string | undefined;
  };
}

/**
 * Decides in the worker whether a caller may run a task: true lets it, false refuses it with PERMISSION_DENIED. It travels
 * like any function, and is asked for each task, so it should be quick.
 */
export type AuthorizeLike = (context: AuthorizeContext) => boolean | Promise<boolean>;
