import type { Call } from "./call.ts";

/** Has `release` called before a call is told what came of it. */
export function beforeEnd(call: Call, release: () => void): void {
  const { resolve, reject } = call;
  call.resolve = (value) => {
    release();
    resolve(value);
  };
  call.reject = (failure) => {
    release();
    reject(failure);
  };
}
