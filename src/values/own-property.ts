/** A property descriptor. Its accessors are examined, not called. */
export interface Property {
  readonly value?: unknown;
  readonly get?: unknown;
  readonly set?: unknown;
  readonly writable?: boolean;
  readonly enumerable?: boolean;
  readonly configurable?: boolean;
}

/** The own property `key` of `object`, without running accessors. */
export function ownProperty(object: object, key: string | symbol): Property | undefined {
  return Object.getOwnPropertyDescriptor(object, key);
}

/** The getter of a built-in property, which finds the state of an object even where a subclass hides the property. */
export function builtInGetter(prototype: object, key: string | symbol): (value: object) => unknown {
  const get = ownProperty(prototype, key)?.get;
  if (typeof get !== "function") throw new TypeError(`there is no built-in getter ${String(key)}`);
  return (value) => Reflect.apply(get, value, []);
}

/** The function or class whose prototype `value` is. */
export function constructorOf(value: object): object | undefined {
  const constructor = ownProperty(value, "constructor")?.value;
  if (typeof constructor !== "function") return undefined;
  return ownProperty(constructor, "prototype")?.value === value ? constructor : undefined;
}
