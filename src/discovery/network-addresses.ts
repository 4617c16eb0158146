import { BlockList, isIP, isIPv6 } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** A network interface of this machine with its addresses. */
export interface MachineInterface {
  readonly name: string;
  /** Whether it leads to this machine only. */
  readonly isLoopback: boolean;
  readonly addresses: readonly NetworkInterfaceInfo[];
}

/** The interfaces of this machine that are up. Those that lead to other machines come first. */
export function machineInterfaces(): MachineInterface[] {
  return Object.entries(networkInterfaces())
    .map(([name, addresses = []]) => ({ name, isLoopback: addresses.every(({ internal }) => internal), addresses }))
    .sort((a, b) => Number(a.isLoopback) - Number(b.isLoopback) || (a.name < b.name ? -1 : 1));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** How far the host that a worker listens on can be reached. */
export type HostReach = "any" | "loopback" | "address" | "name";

/** `any` for a wildcard, `loopback` for a host that only this machine can reach, else `address` or `name`. */
export function hostReach(host: string): HostReach {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === "localhost" ? "loopback" : "name";
  if (host === "0.0.0.0" || /^[0:]+$/.test(host)) return "any";
  return loopback.check(host, version === 6 ? "ipv6" : "ipv4") ? "loopback" : "address";
}

/** Host and port of a worker's address; `undefined` for that of a unix socket. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  if (address.startsWith("unix:")) return undefined;
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
}

/** How far a worker's address can be reached; `loopback` for a unix socket. */
export function reachOf(address: string): HostReach {
  const parts = splitAddress(address);
  return parts === undefined ? "loopback" : hostReach(parts.host);
}

/** The reverse of `splitAddress`. */
export function joinAddress(host: string, port: number): string {
  return isIPv6(host.replace(/%.*$/, "")) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether `address` is in a network of an interface. */
export function isBehind({ addresses }: MachineInterface, address: string): boolean {
  const [plain = "", scope] = address.split("%");
  const version = isIP(plain);
  return addresses.some(({ address: own, cidr, family, scopeid }) => {
    if (cidr === null || (family === "IPv6") !== (version === 6) || version === 0) return false;
    if (scope !== undefined && scopeid !== undefined && scope !== String(scopeid)) return false;
    const network = new BlockList();
    const kind = version === 6 ? "ipv6" : "ipv4";
    network.addSubnet(own, Number(cidr.slice(cidr.indexOf("/") + 1)), kind);
    return network.check(plain, kind);
  });
}

/**
 * An address by which other machines likely reach a server on this machine that listens on all addresses of
 * `wildcard`'s kind: `preferred` if this machine has it, else the first one of an interface that leads to others.
 * `undefined` when there is none.
 */
export function reachableAddress(
  wildcard: string,
  preferred: string | undefined,
  interfaces: readonly MachineInterface[] = machineInterfaces(),
): string | undefined {
  const usable = interfaces
    .flatMap(({ addresses }) => addresses)
    // Link-local addresses mean something different on each machine.
    .filter(
      ({ internal, family, scopeid = 0 }) => !internal && (family === "IPv4" || (isIPv6(wildcard) && scopeid === 0)),
    );
  // Behind NAT others may see an address that this machine does not have, with other ports than its workers.
  const seen = usable.find(({ address }) => address === preferred?.replace(/^::ffff:/i, ""));
  return (seen ?? usable.find(({ family }) => family === "IPv4") ?? usable[0])?.address;
}

/**
 * The worker with an address that other machines can use, if it listens on all addresses. `preferred` is the address of
 * this machine that others are known to see.
 */
export function advertisedWorker(worker: WorkerMetadata, preferred?: string): WorkerMetadata {
  const parts = splitAddress(worker.address);
  if (parts === undefined || hostReach(parts.host) !== "any") return worker;
  return { ...worker, address: joinAddress(reachableAddress(parts.host, preferred) ?? "127.0.0.1", parts.port) };
}
