/** True when two types are the same, `any` and `readonly` included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** True for `any` alone. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

/** Compiles only for `true`. */
export type Expect<T extends true> = T;

/** Compiles only when the value's type is exactly `T`: `expectType<number>()(value)`. */
export function expectType<T>(): <V>(value: V & (Equal<V, T> extends true ? unknown : never)) => void {
  return () => undefined;
}
