import { expect, it } from "vitest";
import { isLoopback } from "./loopback.ts";

it.each(["127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost", "LOCALHOST"])(
  "%s is this machine alone",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

it.each(["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1", "example.com", "127.example.com"])(
  "%s may be reached by others",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
