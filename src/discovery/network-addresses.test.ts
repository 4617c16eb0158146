import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { type MachineInterface, reachableAddress } from "./network-addresses.ts";

function ipv4(address: string, internal = false): NetworkInterfaceInfo {
  return { address, family: "IPv4", internal, netmask: "255.255.255.0", mac: "", cidr: `${address}/24` };
}

function ipv6(address: string, scopeid = 0): NetworkInterfaceInfo {
  return { address, family: "IPv6", internal: false, netmask: "ffff::", mac: "", cidr: `${address}/64`, scopeid };
}

function machine(...addresses: NetworkInterfaceInfo[]): MachineInterface[] {
  return [
    { name: "eth0", isLoopback: false, addresses },
    { name: "lo", isLoopback: true, addresses: [ipv4("127.0.0.1", true)] },
  ];
}

describe("the address that a worker on all addresses is advertised with", () => {
  const both = machine(ipv4("10.0.0.1"), ipv4("192.168.0.1"), ipv6("fe80::1", 2), ipv6("fd00::1"));

  it("is the one that others see", () => {
    expect(reachableAddress("0.0.0.0", "192.168.0.1", both)).toBe("192.168.0.1");
    expect(reachableAddress("::", "fd00::1", both)).toBe("fd00::1");
    expect(reachableAddress("::", "::ffff:192.168.0.1", both)).toBe("192.168.0.1");
  });

  it("is one of this machine where others see another, as behind NAT", () => {
    expect(reachableAddress("0.0.0.0", "203.0.113.7", both)).toBe("10.0.0.1");
    expect(reachableAddress("0.0.0.0", undefined, both)).toBe("10.0.0.1");
  });

  it("is of a kind that the worker listens on", () => {
    expect(reachableAddress("0.0.0.0", "fd00::1", both)).toBe("10.0.0.1");
    expect(reachableAddress("0.0.0.0", undefined, machine(ipv6("fd00::1")))).toBeUndefined();
    expect(reachableAddress("::", undefined, machine(ipv6("fd00::1")))).toBe("fd00::1");
  });

  it("means the same to other machines", () => {
    expect(reachableAddress("::", "fe80::1", both)).toBe("10.0.0.1");
    expect(reachableAddress("::", undefined, machine(ipv6("fe80::1", 2), ipv6("fd00::1")))).toBe("fd00::1");
    expect(reachableAddress("::", "127.0.0.1", machine())).toBeUndefined();
  });
});
