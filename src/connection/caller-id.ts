import { randomBytes } from "node:crypto";

let id: string | undefined;

/** Names this thread in every session that it opens: tasks are called by it and their sequence number. */
export function callerId(): string {
  id ??= randomBytes(9).toString("base64url");
  return id;
}

/** The name of a task in the whole system. */
export function taskId(caller: string, sequence: number): string {
  return `${caller}-${sequence.toString(36)}`;
}
