import { frameMessage, GrpcStatusError, SMALL_REQUEST_BYTES, StatusCode, statusFromError } from "../protocol/index.ts";
import type { GrpcServer, ServerStream } from "../server/index.ts";

/** The health of a service. */
export type ServingStatus = "serving" | "not-serving" | "unknown";

type Messages = typeof import("./health-messages.ts");

interface Watch {
  readonly stream: ServerStream;
  readonly messages: Messages;
  last: ServingStatus | "service-unknown" | undefined;
}

/** The standard health service `grpc.health.v1.Health`, Check and Watch. The protobuf code is loaded by the first call. */
export class Health {
  readonly #statuses = new Map<string, ServingStatus>([["", "serving"]]);
  readonly #watches = new Map<string, Set<Watch>>();
  #closed = false;

  /** Serves the methods on a server. The server as a whole, the service of the empty name, starts as `serving`. */
  constructor(server: GrpcServer) {
    const check = async (request: Uint8Array): Promise<Uint8Array> => {
      const messages = await import("./health-messages.ts");
      const service = messages.decodeHealthRequest(request);
      const status = this.#statuses.get(service);
      if (status === undefined) {
        throw new GrpcStatusError(StatusCode.NOT_FOUND, `this server has no service "${service}"`);
      }
      return messages.encodeHealthResponse(status);
    };
    server.addUnary("/grpc.health.v1.Health/Check", check, SMALL_REQUEST_BYTES);
    server.addStream("/grpc.health.v1.Health/Watch", (stream) => void this.#accept(stream));
  }

  /** Sets the health of a service and tells its watchers; does nothing after `close`. */
  set(service: string, status: ServingStatus): void {
    if (this.#closed) return;
    this.#statuses.set(service, status);
    this.#notify(service);
  }

  /** Sets every service to `not-serving` for good and ends the watches, so that a closing server need not wait for them. */
  close(): void {
    if (this.#closed) return;
    for (const service of this.#statuses.keys()) this.set(service, "not-serving");
    this.#closed = true;
    for (const watches of this.#watches.values()) {
      for (const { stream } of watches) stream.end({ code: StatusCode.UNAVAILABLE, message: "the server is stopping" });
    }
    this.#watches.clear();
  }

  async #accept(stream: ServerStream): Promise<void> {
    stream.limitMessages(SMALL_REQUEST_BYTES);
    try {
      const messages = await import("./health-messages.ts");
      let service: string | undefined;
      const watch: Watch = { stream, messages, last: undefined };
      stream.handle({
        message: (buffer, start, end) => {
          if (service !== undefined) throw new GrpcStatusError(StatusCode.UNIMPLEMENTED, "Watch takes one request");
          service = messages.decodeHealthRequest(buffer.subarray(start, end));
          this.#watch(service, watch);
        },
        cancelled: () => {
          if (service !== undefined) this.#unwatch(service, watch);
        },
      });
    } catch (error) {
      stream.end(statusFromError(error));
    }
  }

  #watch(service: string, watch: Watch): void {
    const watches = this.#watches.get(service) ?? new Set();
    this.#watches.set(service, watches.add(watch));
    this.#notify(service);
    if (this.#closed) watch.stream.end({ code: StatusCode.UNAVAILABLE, message: "the server is stopping" });
  }

  #unwatch(service: string, watch: Watch): void {
    const watches = this.#watches.get(service);
    watches?.delete(watch);
    if (watches?.size === 0) this.#watches.delete(service);
  }

  #notify(service: string): void {
    const status = this.#statuses.get(service) ?? "service-unknown";
    for (const watch of this.#watches.get(service) ?? []) {
      if (watch.last === status) continue;
      watch.last = status;
      watch.stream.send(frameMessage(watch.messages.encodeHealthResponse(status)));
    }
  }
}
