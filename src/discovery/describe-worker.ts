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
}

/**
 * Asks the worker at `address` what it is. Keeps no program alive.
 * @throws GrpcStatusError when it cannot be reached or does not answer; UNIMPLEMENTED when it does not know the question;
 * UnexpectedResponse when its answer makes no sense.
 */
export async function describeWorker(address: string, options: DescribeOptions): Promise<WorkerMetadata> {
  const { timeout, tls } = options;
  const channel = new GrpcChannel(address, {
    connectTimeout: timeout,
    keepaliveInterval: 0,
    ...(tls === undefined ? {} : { tls }),
  });
  channel.unref();
  try {
    const response = await channel.unary(PATH, new Uint8Array(0), { timeout });
    return parseDescription(address, response);
  } finally {
    void channel.close();
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
