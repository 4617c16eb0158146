export { acquireLink, releaseLink } from "./link-cache.ts";
export { RemoteGenerator } from "./remote-generator.ts";
export type { Session } from "./session.ts";
export type { LinkListener, WorkerLink } from "./worker-link.ts";
