import { processId } from "../functions/index.ts";

/**
 * Names this thread in every session that it opens: tasks are called by it and their sequence number, and functions and
 * classes that come back from a worker are known by it.
 */
export function callerId(): string {
  return processId;
}

/** The name of a task in the whole system. */
export function taskId(caller: string, sequence: number): string {
  return `${caller}-${sequence.toString(36)}`;
}
