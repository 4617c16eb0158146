import { describe, expect, it } from "vitest";
import { addressProblem } from "./worker-address.ts";

describe("addressProblem", () => {
  it.each([
    "localhost:1",
    "10.0.0.1:65535",
    "worker-1.svc.local:50051",
    "[::1]:50051",
    "[fe80::1%eth0]:1",
    "[fe80::1%br-lan.2]:1",
    "unix:a",
    "unix:/run/a b",
  ])("finds none in %j", (address) => {
    expect(addressProblem(address)).toBeUndefined();
  });

  it.each([
    "",
    ":",
    "host",
    "host:",
    ":1",
    "host:0",
    "host:65536",
    "host:-1",
    "::1:80",
    "ho st:1",
    "http://host:1",
    "unix:",
    "[]:1",
  ])("finds one in %j", (address) => {
    expect(addressProblem(address)).toBeDefined();
  });
});
