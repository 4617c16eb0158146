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
  /** Called when the connection over which it answered is lost: whoever answers there next may be another worker. */
  readonly lost: () => void;
}

/** What a worker says of itself, for as long as the connection over which it did lasts. */
export interface Description {
  readonly worker: WorkerMetadata;
  /** What it says as text: one worker says the same at each of its addresses. */
  readonly text: string;
  /** Gives the connection up, without a word to `lost`. */
  close(): void;
}

/** A worker that vanishes without a word is noticed within this time and that of the channel's default, in milliseconds. */
const KEEPALIVE_MS = 30_000;

/**
 * Asks the worker at `address` what it is, and keeps the connection. Keeps no program alive.
 * @throws GrpcStatusError when it cannot be reached or does not answer; UNIMPLEMENTED when it does not know the question;
 * UnexpectedResponse when its answer makes no sense.
 */
export async function describeWorker(address: string, options: DescribeOptions): Promise<Description> {
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
    // It may have been lost since the answer came.
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
