export { acquireLink, releaseLink } from "./link-cache.ts";
export type { LinkListener, WorkerLink } from "./worker-link.ts";
