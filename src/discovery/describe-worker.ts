import { messageOf } from "../checks/index.ts";
import { UnexpectedResponse } from "../errors.ts";
import { type ClientTls, GrpcChannel } from "../grpc/index.ts";
import { readDescribeResponse } from "../wire/index.ts";
import { type WorkerMetadata, workerFromJson } from "./worker-metadata.ts";

const PATH = "/wool.v1.Worker/Describe";

/** How a worker is asked. */
export interface DescribeOptions {
  /** Milliseconds that connecting may take, and answering after that. */
  readonly timeout: number;
  /** TLS; none by default. */
  readonly tls?: ClientTls | undefined;
  /** Called when the connection over which it answered is lost: the next answer there may come from another worker. */
  readonly lost: () => void;
}

/** What a worker says about itself, valid while the connection lasts. */
export interface LiveDescription {
  readonly worker: WorkerMetadata;
  /** The description as text: a worker gives the same text at each of its addresses. */
  readonly text: string;
  /** Closes the connection without calling `lost`. */
  close(): void;
}

/** A worker that disappears is noticed within this time plus the default of the channel, in milliseconds. */
const KEEPALIVE_MS = 30_000;

/**
 * Asks the worker at `address` for its description, and keeps the connection open. Does not keep the program alive.
 * @throws GrpcStatusError when it cannot be reached or does not answer; UNIMPLEMENTED when it does not know the
 * question; UnexpectedResponse when its answer is invalid.
 */
export async function describeWorker(address: string, options: DescribeOptions): Promise<LiveDescription> {
  const { timeout, tls, lost } = options;
  let isKept = false;
  const channel = new GrpcChannel(address, {
    connectTimeout: timeout,
    keepaliveInterval: KEEPALIVE_MS,
    onClose: () => {
      if (isKept) lost();
    },
    ...(tls === undefined ? {} : { tls }),
  });
  channel.unref();
  try {
    const response = await channel.unary(PATH, new Uint8Array(0), { timeout });
    const worker = parseDescription(address, response);
    // The connection may have been lost since the answer came.
    isKept = channel.state === "ready";
    if (!isKept) setImmediate(lost);
    return {
      worker,
      text: readDescribeResponse(response),
      close: () => {
        isKept = false;
        void channel.close();
      },
    };
  } catch (error) {
    void channel.close();
    throw error;
  }
}

function parseDescription(address: string, response: Uint8Array): WorkerMetadata {
  let reason: string;
  try {
    const value: unknown = JSON.parse(readDescribeResponse(response));
    const parsed = workerFromJson(typeof value === "object" ? { ...value, address } : value);
    if (parsed.worker !== undefined) return parsed.worker;
    ({ reason } = parsed);
  } catch (error) {
    reason = messageOf(error);
  }
  throw new UnexpectedResponse(`the worker at ${address} describes itself in a way that cannot be read: ${reason}`);
}
