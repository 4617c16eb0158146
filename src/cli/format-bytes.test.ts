import { expect, it } from "vitest";
import { formatBytes } from "./format-explanation.ts";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [9949, "9.9 kB"],
  [9951, "10 kB"],
  [999_499, "999 kB"],
  [999_500, "1.0 MB"],
  [123_456_789, "123 MB"],
  [5_000_000_000, "5.0 GB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
