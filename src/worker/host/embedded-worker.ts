/**
 * The text of a module that is a whole worker, process and task thread, with everything that it needs: what
 * `embedded-main.ts` is built into. The build puts it here; without a build there is none.
 */
export const EMBEDDED_WORKER: string = "";
