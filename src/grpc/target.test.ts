import { describe, expect, it } from "vitest";
import { parseTarget } from "./target.ts";

describe("parseTarget", () => {
  it.each([
    ["unix:/run/w.sock", { kind: "unix", path: "/run/w.sock" }],
    ["unix:///run/w.sock", { kind: "unix", path: "/run/w.sock" }],
    ["unix:w.sock", { kind: "unix", path: "w.sock" }],
    ["localhost:80", { kind: "tcp", host: "localhost", port: 80 }],
    ["10.0.0.1:65535", { kind: "tcp", host: "10.0.0.1", port: 65_535 }],
    ["[::1]:8080", { kind: "tcp", host: "::1", port: 8080 }],
    ["[fe80::1%eth0]:8080", { kind: "tcp", host: "fe80::1%eth0", port: 8080 }],
    ["[fe80::1%br-lan.2]:8080", { kind: "tcp", host: "fe80::1%br-lan.2", port: 8080 }],
  ])("takes %s apart", (text, target) => {
    expect(parseTarget(text)).toEqual(target);
  });

  it.each(["", "host", "host:", ":80", "host:0", "host:65536", "host:x", "::1:80", "[::1]", "http://host:80", "unix:"])(
    "refuses %j and says what it expects",
    (text) => {
      expect(() => parseTarget(text)).toThrow(/unix/);
    },
  );

  it.skipIf(process.platform === "win32")("refuses a socket path that the system would cut off", () => {
    expect(() => parseTarget(`unix:/${"x".repeat(107)}`)).toThrow("has 108 bytes");
    expect(() => parseTarget(`unix:/${"x".repeat(102)}`)).not.toThrow();
  });
});
