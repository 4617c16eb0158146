import { BlockList, isIP, isIPv6 } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** A network interface of this machine with its addresses. */
export interface MachineInterface {
  readonly name: string;
  /** Only this machine is behind it. */
  readonly isLoopback: boolean;
  readonly addresses: readonly NetworkInterfaceInfo[];
}

/** The interfaces of this machine that are up, those that lead to others first. */
export function machineInterfaces(): MachineInterface[] {
  return Object.entries(networkInterfaces())
    .map(([name, addresses = []]) => ({ name, isLoopback: addresses.every(({ internal }) => internal), addresses }))
    .sort((a, b) => Number(a.isLoopback) - Number(b.isLoopback) || (a.name < b.name ? -1 : 1));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** What others can make of the host that a worker listens on. */
export type HostReach = "any" | "loopback" | "address" | "name";

/** `any` for a wildcard, `loopback` for what only this machine reaches, else `address` or `name`. */
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

/** What others can make of a worker's address; `loopback` for that of a unix socket. */
export function reachOf(address: string): HostReach {
  const parts = splitAddress(address);
  return parts === undefined ? "loopback" : hostReach(parts.host);
}

/** The reverse of `splitAddress`. */
export function joinAddress(host: string, port: number): string {
  return isIPv6(host.replace(/%.*$/, "")) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether `address` is in the network that an interface has an address in. */
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
 * An address of this machine that others are likely to reach it by, for what listens on all addresses of `wildcard`'s kind:
 * `preferred` if it is one of them, else the first of an interface that leads to others. `undefined` when there is none.
 */
export function reachableAddress(
  wildcard: string,
  preferred: string | undefined,
  interfaces: readonly MachineInterface[] = machineInterfaces(),
): string | undefined {
  const usable = interfaces
    .flatMap(({ addresses }) => addresses)
    // Link-local addresses mean something else to each machine.
    .filter(
      ({ internal, family, scopeid = 0 }) => !internal && (family === "IPv4" || (isIPv6(wildcard) && scopeid === 0)),
    );
  // Behind NAT others may see an address that is not of this machine, and whose ports are not those of its workers.
  const seen = usable.find(({ address }) => address === preferred?.replace(/^::ffff:/i, ""));
  return (seen ?? usable.find(({ family }) => family === "IPv4") ?? usable[0])?.address;
}

/**
 * The worker with an address that others can use, where it listens on all of them. `preferred` is the address of this machine
 * that others are known to see.
 */
export function advertisedWorker(worker: WorkerMetadata, preferred?: string): WorkerMetadata {
  const parts = splitAddress(worker.address);
  if (parts === undefined || hostReach(parts.host) !== "any") return worker;
  return { ...worker, address: joinAddress(reachableAddress(parts.host, preferred) ?? "127.0.0.1", parts.port) };
}
