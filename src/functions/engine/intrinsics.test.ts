import { Blob, File } from "node:buffer";
import { afterEach, expect, test } from "vitest";
import { intrinsicAt, intrinsicPathOf } from "./intrinsics.ts";

const before = ["Blob", "File"].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

afterEach(() => {
  for (const [name, descriptor] of before)
    if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
});

test("a class that was loaded only because another one extends it goes by its own name", () => {
  // The state of Node.js when only File has been used.
  Object.defineProperty(globalThis, "Blob", { get: () => Blob, configurable: true });
  Object.defineProperty(globalThis, "File", { value: File, configurable: true, writable: true });
  expect(intrinsicPathOf(File)).toBe("File");
  expect(intrinsicPathOf(Blob)).toBe("Blob");
  expect(intrinsicPathOf(Blob.prototype)).toBe("Blob.prototype");
  expect(intrinsicAt("Blob")).toBe(Blob);
});
