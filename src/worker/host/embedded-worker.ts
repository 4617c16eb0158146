/**
 * The text of a module that contains a whole worker, process and task thread, with all its dependencies. It is built
 * from `embedded-main.ts`. The build puts it here; without a build it is empty.
 */
export const EMBEDDED_WORKER: string = "";
