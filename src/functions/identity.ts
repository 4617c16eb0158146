import { randomUUID } from "node:crypto";

/** Names this process, so that what it shipped is recognised when it comes back. */
export const processId: string = randomUUID();

const ids = new WeakMap<object, string>();
const objects = new Map<string, WeakRef<object>>();
const forgotten = new FinalizationRegistry<string>((id) => {
  if (objects.get(id)?.deref() === undefined) objects.delete(id);
});
let count = 0;

/** The id of a function or class: made here, or kept from where it came from. */
export function identify(object: object): string {
  const existing = ids.get(object);
  if (existing !== undefined) return existing;
  count += 1;
  const id = `${processId}:${count}`;
  adopt(object, id);
  return id;
}

/** Lets what was revived here carry the id it has at its origin. */
export function adopt(object: object, id: string): void {
  ids.set(object, id);
  objects.set(id, new WeakRef(object));
  forgotten.register(object, id);
}

/** The id of something that was identified or adopted; undefined otherwise. */
export function identityOf(object: object): string | undefined {
  return ids.get(object);
}

/** What has that id in this process: the original at its origin, the revived one elsewhere. */
export function identified(id: string): object | undefined {
  return objects.get(id)?.deref();
}

/** True for the id of something that was made in this process. */
export function isOwnId(id: string): boolean {
  return id.startsWith(processId);
}
