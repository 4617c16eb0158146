import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { asError, errorCode } from "../../checks/index.ts";
import { isBehind, type MachineInterface, machineInterfaces } from "../network-addresses.ts";

const GROUPS = { IPv4: "224.0.0.251", IPv6: "ff02::fb" } as const;
/** How often to check for new or removed interfaces, in milliseconds. There is no system event for that. */
const LOOK_MS = 3000;
/** The time to live of multicast DNS packets. It shows that they come from the same link. */
const TTL = 255;

type Family = keyof typeof GROUPS;

/** Events of a link. */
export interface LinkEvents {
  /** A packet has arrived. */
  packet(bytes: Buffer, from: RemoteInfo): void;
  /** There are new interfaces. */
  interfacesAdded(): void;
}

/** How a link is made. */
export interface LanLinkOptions {
  readonly port: number;
  /** Names of the interfaces to use. Default: all. */
  readonly interfaces?: readonly string[] | undefined;
}

/**
 * Multicast DNS on every interface: a socket for each one to send from, and one for each IP version that receives. Does
 * not keep the program alive.
 */
export class LanLink {
  readonly #options: LanLinkOptions;
  readonly #events: LinkEvents;
  readonly #receivers = new Map<Family, Socket>();
  /** By interface and family. */
  readonly #senders = new Map<
    string,
    { readonly socket: Socket; readonly address: string; readonly where: MachineInterface }
  >();
  #timer: NodeJS.Timeout | undefined;
  #state: "open" | "closed" = "open";
  /** Why an interface cannot be used, by interface and family. */
  readonly #problems = new Map<string, Error>();

  constructor(options: LanLinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Opens the sockets. Interfaces that cannot be used are left out. */
  async open(): Promise<void> {
    await this.#refresh();
    if (this.#state === "closed") return;
    this.#timer = setInterval(() => void this.#refresh(), LOOK_MS).unref();
  }

  get port(): number {
    return this.#options.port;
  }

  /** The interfaces that packets can be sent on. */
  get interfaces(): MachineInterface[] {
    return Array.from(new Map(Array.from(this.#senders.values(), ({ where }) => [where.name, where])).values());
  }

  /** Why no packet can be sent; undefined if packets can be sent. */
  get problem(): string | undefined {
    if (this.#senders.size > 0) return undefined;
    if (this.#problems.size > 0)
      return Array.from(this.#problems, ([key, { message }]) => `${key}: ${message}`).join("; ");
    const { interfaces: wanted } = this.#options;
    if (wanted === undefined) return "there is no network interface that is up";
    const there = machineInterfaces().map(({ name }) => name);
    return `there is no network interface ${wanted.join(" or ")} that is up; there are: ${there.join(", ") || "none"}`;
  }

  /** The name of the interface through which a packet came, as far as its sender's address shows. */
  sourceOf({ address }: RemoteInfo): string | undefined {
    const [, scope] = address.split("%");
    return scope ?? this.interfaces.find((each) => isBehind(each, address))?.name;
  }

  /** Sends packets to everybody: those that `packetsFor` returns for each interface. */
  send(packetsFor: (where: MachineInterface) => readonly Buffer[]): Promise<void> {
    const packets = new Map(this.interfaces.map((where) => [where.name, packetsFor(where)]));
    const sent = Array.from(this.#senders.entries(), ([key, { socket, where }]) =>
      (packets.get(where.name) ?? []).map((packet) =>
        sendTo(socket, packet, this.#options.port, GROUPS[familyOf(key)]),
      ),
    );
    return Promise.all(sent.flat()).then(() => undefined);
  }

  /** Sends a packet to the sender of a question. */
  reply(packet: Buffer, { address, port, family }: RemoteInfo): void {
    const receiver = this.#receivers.get(family);
    if (receiver !== undefined) void sendTo(receiver, packet, port, address);
  }

  close(): void {
    this.#state = "closed";
    clearInterval(this.#timer);
    for (const socket of this.#receivers.values()) socket.close();
    for (const { socket } of this.#senders.values()) socket.close();
    this.#receivers.clear();
    this.#senders.clear();
  }

  /** Adds interfaces that are new or have a new address, and removes those that are gone. */
  async #refresh(): Promise<void> {
    const wanted = new Map<string, { readonly where: MachineInterface; readonly address: string }>();
    const { interfaces: names } = this.#options;
    for (const where of machineInterfaces()) {
      if (names !== undefined && !names.includes(where.name)) continue;
      const ipv4 = where.addresses.find(({ family }) => family === "IPv4");
      const ipv6 = where.addresses.find(({ family, address }) => family === "IPv6" && /^fe80:/i.test(address));
      if (ipv4 !== undefined) wanted.set(`IPv4 ${where.name}`, { where, address: ipv4.address });
      if (ipv6 !== undefined) wanted.set(`IPv6 ${where.name}`, { where, address: `${ipv6.address}%${where.name}` });
    }
    for (const [key, { socket, address }] of Array.from(this.#senders)) {
      if (wanted.get(key)?.address === address) continue;
      this.#senders.delete(key);
      socket.close();
    }
    for (const key of this.#problems.keys()) if (!wanted.has(key)) this.#problems.delete(key);
    const missing = Array.from(wanted).filter(([key]) => !this.#senders.has(key));
    const added = await Promise.all(missing.map(([key, { where, address }]) => this.#add(key, where, address)));
    if (this.#isOpen() && added.includes(true)) this.#events.interfacesAdded();
  }

  async #add(key: string, where: MachineInterface, address: string): Promise<boolean> {
    const family = familyOf(key);
    try {
      const receiver = await this.#receiver(family);
      const scope = family === "IPv4" ? address : `::%${where.name}`;
      try {
        receiver.addMembership(GROUPS[family], scope);
      } catch (error) {
        // The group was joined when the interface was up before.
        if (!isCode(error, "EADDRINUSE")) throw error;
      }
      const socket = await this.#bound(family, address);
      socket.setMulticastInterface(scope);
      socket.setMulticastTTL(TTL);
      socket.setMulticastLoopback(true);
      if (!this.#isOpen()) {
        socket.close();
        return false;
      }
      this.#senders.set(key, { socket, address, where });
      this.#problems.delete(key);
      return true;
    } catch (error) {
      this.#problems.set(key, asError(error));
      return false;
    }
  }

  async #receiver(family: Family): Promise<Socket> {
    const known = this.#receivers.get(family);
    if (known !== undefined) return known;
    const socket = await this.#bound(family, family === "IPv4" ? "0.0.0.0" : "::");
    const other = this.#receivers.get(family);
    if (other !== undefined || !this.#isOpen()) {
      socket.close();
      if (other !== undefined) return other;
      throw new Error("the link is closed");
    }
    this.#receivers.set(family, socket);
    return socket;
  }

  /** A socket of this family at this address. Its packets are received. */
  async #bound(family: Family, address: string): Promise<Socket> {
    const socket = createSocket({
      type: family === "IPv4" ? "udp4" : "udp6",
      reuseAddr: true,
      ipv6Only: family === "IPv6",
    });
    await new Promise<void>((resolve, reject) => {
      socket.once("error", (error) => {
        socket.close();
        reject(error);
      });
      socket.bind({ port: this.#options.port, address, exclusive: true }, resolve);
    });
    socket.removeAllListeners("error");
    // For example a network that is down. Lost packets are sent again later.
    socket.on("error", () => undefined);
    socket.on("message", (bytes, from) => {
      if (this.#isOpen()) this.#events.packet(bytes, from);
    });
    socket.unref();
    return socket;
  }

  #isOpen(): boolean {
    return this.#state === "open";
  }
}

function familyOf(key: string): Family {
  return key.startsWith("IPv4") ? "IPv4" : "IPv6";
}

function isCode(error: unknown, code: string): boolean {
  return errorCode(error) === code;
}

/** Never rejects: multicast gives no guarantee anyway. */
function sendTo(socket: Socket, packet: Buffer, port: number, address: string): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.send(packet, port, address, () => resolve());
    } catch {
      resolve();
    }
  });
}
