/**
 * Objects whose members are about to be taken apart. A method does not tell what object it was defined on, so the
 * ones that were seen last are looked through when a method needs to know.
 */
const MAX_REMEMBERED = 64;
const remembered: WeakRef<object>[] = [];

/** Remembers an object as a possible holder of methods. */
export function noteHolder(object: object): void {
  remembered.push(new WeakRef(object));
  if (remembered.length > MAX_REMEMBERED) remembered.shift();
}

/** The objects that were seen last, newest first. */
export function* recentHolders(): Generator<object> {
  for (let index = remembered.length - 1; index >= 0; index -= 1) {
    const object = remembered[index]?.deref();
    if (object !== undefined) yield object;
  }
}
