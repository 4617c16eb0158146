import { IdentityTable, processId } from "./identity-table.ts";

/** The functions and classes that have left this process or came to it. */
const functions = new IdentityTable<object>();

/** The id of a function or class: made here, or kept from where it came from. */
export function identify(object: object): string {
  return functions.identify(object);
}

/** Lets what was revived here carry the id it has at its origin. */
export function adopt(object: object, id: string): void {
  functions.adopt(object, id);
}

/** The id of something that was identified or adopted; undefined otherwise. */
export function identityOf(object: object): string | undefined {
  return functions.idOf(object);
}

/** What has that id in this process: the original at its origin, the revived one elsewhere. */
export function identified(id: string): object | undefined {
  return functions.find(id);
}

/** True for the id of something that was made in this process. */
export function isOwnId(id: string): boolean {
  return id.startsWith(processId);
}
