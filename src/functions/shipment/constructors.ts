const constructors = new WeakSet<object>();
const latest: WeakRef<object>[] = [];
const MAX_LATEST = 64;

/**
 * Remembers that a function makes instances that travel, or that code which travels makes some: receivers revive such a
 * function once, like a class.
 */
export function noteConstructor(fn: object): void {
  if (constructors.has(fn)) return;
  constructors.add(fn);
  latest.push(new WeakRef(fn));
  if (latest.length > MAX_LATEST) latest.shift();
}

/** True for a function that `noteConstructor` was told of. */
export function isNotedConstructor(fn: object): boolean {
  return constructors.has(fn);
}

/** The last functions that were new to `noteConstructor`, the newest first. */
export function latestConstructors(): object[] {
  return latest
    .map((reference) => reference.deref())
    .filter((fn) => fn !== undefined)
    .reverse();
}
