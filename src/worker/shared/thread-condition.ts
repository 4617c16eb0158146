/**
 * The option of Node.js with which the modules of this package lead to the runtime of the task thread that imports them:
 * "imports" of package.json.
 */
export const THREAD_CONDITION = "--conditions=wool-ts-thread";
