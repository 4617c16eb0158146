import { decodeMessage } from "../dns-message.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { LanBrowser } from "./lan-browser.ts";
import { LanLink, type LanLinkOptions } from "./lan-link.ts";
import { LanResponder } from "./lan-responder.ts";

/** Events about the workers of other processes. */
export interface NodeEvents {
  /** A worker was found, or has changed; `name` is the name of its service. */
  found(name: string, worker: WorkerMetadata): void;
  lost(name: string): void;
  /** Something on the network was invalid. */
  ignored(reason: string): void;
}

/** How a node is made. */
export interface NodeOptions extends LanLinkOptions {
  readonly namespace: string;
  /** Seconds that others may keep the records of this process. */
  readonly ttl: number;
}

/** This process on the network: announces its workers of one namespace and looks for the workers of others. */
export class LanNode {
  readonly #link: LanLink;
  readonly #responder: LanResponder;
  readonly #namespace: string;
  readonly #events: NodeEvents;
  #browser: LanBrowser | undefined;

  private constructor(options: NodeOptions, events: NodeEvents) {
    this.#namespace = options.namespace;
    this.#events = events;
    this.#link = new LanLink(options, {
      packet: (bytes, from) => {
        const message = decodeMessage(bytes);
        if (message === undefined) events.ignored(`a packet from ${from.address} is not a DNS message`);
        else if (message.kind === "query") this.#responder.asked(message, from);
        else {
          this.#responder.heard(message);
          this.#browser?.heard(message, from);
        }
      },
      interfacesAdded: () => {
        this.#responder.announceAll();
        this.#browser?.restart();
      },
    });
    this.#responder = new LanResponder(this.#link, options.ttl);
  }

  static async open(options: NodeOptions, events: NodeEvents): Promise<LanNode> {
    const node = new LanNode(options, events);
    await node.#link.open();
    return node;
  }

  /** Why no other program can be reached; undefined if that works. */
  get problem(): string | undefined {
    return this.#link.problem;
  }

  /** Starts to look for workers, unless it has started. */
  browse(): void {
    this.#browser ??= new LanBrowser(this.#link, {
      found: (name, namespace, worker) => {
        if (namespace === this.#namespace && !this.#responder.owns(name)) this.#events.found(name, worker);
        else this.#events.lost(name);
      },
      lost: (name) => this.#events.lost(name),
      ignored: (reason) => this.#events.ignored(reason),
    });
  }

  /** Stops looking for workers. */
  rest(): void {
    this.#browser?.close();
    this.#browser = undefined;
  }

  async publish(worker: WorkerMetadata): Promise<void> {
    await this.#responder.publish(this.#namespace, worker);
  }

  async withdraw(uid: string): Promise<void> {
    await this.#responder.withdraw(uid);
  }

  /** Withdraws all workers and frees the sockets. */
  async close(): Promise<void> {
    this.rest();
    await this.#responder.close();
    this.#link.close();
  }
}
