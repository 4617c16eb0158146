import { afterEach, describe, expect, it } from "vitest";
import { IntrinsicGuard } from "./intrinsic-guard.ts";

const undo: (() => void)[] = [];

afterEach(() => {
  for (const restore of undo.splice(0)) restore();
});

function replace(holder: object, key: PropertyKey, value: unknown = () => undefined): void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, key);
  undo[undo.length] = () => {
    if (descriptor !== undefined) Object.defineProperty(holder, key, descriptor);
  };
  Object.defineProperty(holder, key, { value, configurable: true, writable: true });
}

describe("IntrinsicGuard", () => {
  it("finds nothing where nothing was replaced, and names what was", () => {
    const guard = new IntrinsicGuard();
    expect(guard.replaced()).toBeUndefined();
    replace(JSON, "stringify");
    expect(guard.replaced()).toBe("JSON.stringify");
  });

  it("finds a global that was replaced, and one that is gone", () => {
    const guard = new IntrinsicGuard();
    for (const name of ["WeakRef", "Buffer", "performance"]) {
      replace(globalThis, name, {});
      expect(guard.replaced()).toBe(name);
      for (const restore of undo.splice(0)) restore();
      expect(guard.replaced()).toBeUndefined();
    }
    replace(globalThis, "SharedArrayBuffer");
    Reflect.deleteProperty(globalThis, "SharedArrayBuffer");
    expect(guard.replaced()).toBe("SharedArrayBuffer");
  });

  it("does not mind a replacement that does the same", () => {
    const guard = new IntrinsicGuard();
    const original = Reflect.get(Array.prototype, "push") as (...items: unknown[]) => number;
    let calls = 0;
    replace(Array.prototype, "push", function (this: unknown, ...items: unknown[]) {
      calls += items.length;
      return original.apply(this, items);
    });
    expect([guard.replaced(), guard.replaced(), calls > 0]).toEqual([undefined, undefined, true]);
    replace(Array.prototype, "push", () => 1);
    const found = guard.replaced();
    for (const restore of undo.splice(0).reverse()) restore();
    expect(found).toBe("Array.prototype.push");
  });

  it("takes everything that exists when it is made for right", () => {
    replace(WeakRef.prototype, "deref");
    const guard = new IntrinsicGuard();
    expect(guard.replaced()).toBeUndefined();
    for (const restore of undo.splice(0)) restore();
    expect(guard.replaced()).toBe("WeakRef.prototype.deref");
  });
});
