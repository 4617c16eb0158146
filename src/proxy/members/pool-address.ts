import type { PoolReference } from "../../call/index.ts";
import {
  type DiscoveryLike,
  LocalDiscovery,
  StaticDiscovery,
  type WorkerMetadata,
  workerFromJson,
  workerToJson,
} from "../../discovery/index.ts";
import { UnexpectedResponse } from "../../errors.ts";

/** How to reach the workers of a pool from another process. */
export type PoolAddress =
  | { readonly kind: "local"; readonly namespace: string; readonly directory: string | undefined }
  | { readonly kind: "static"; readonly workers: readonly WorkerMetadata[] };

let lastNumber = 0;

/** A pool address as tasks carry it. */
export function makePoolReference(address: PoolAddress): PoolReference {
  const json = address.kind === "local" ? address : { kind: address.kind, workers: address.workers.map(workerToJson) };
  return { number: ++lastNumber, description: Buffer.from(JSON.stringify(json), "utf8") };
}

/** Reads, on the worker, the description that `makePoolReference` made. Throws `UnexpectedResponse` for anything else. */
export function readPoolAddress(bytes: Uint8Array): PoolAddress {
  const json = parse(Buffer.from(bytes).toString("utf8"));
  if (typeof json === "object" && json !== null && "kind" in json) {
    if (json.kind === "local" && "namespace" in json && typeof json.namespace === "string") {
      const directory = "directory" in json && typeof json.directory === "string" ? json.directory : undefined;
      return { kind: "local", namespace: json.namespace, directory };
    }
    if (json.kind === "static" && "workers" in json && Array.isArray(json.workers)) {
      const workers = json.workers.map((worker: unknown) => workerFromJson(worker).worker);
      return { kind: "static", workers: workers.filter((worker) => worker !== undefined) };
    }
  }
  throw new UnexpectedResponse("a task came with a pool address that this version does not understand");
}

/** A discovery that finds the workers of a pool. */
export function discoveryFor(address: PoolAddress): DiscoveryLike & Partial<AsyncDisposable> {
  if (address.kind === "static") return new StaticDiscovery([...address.workers]);
  return new LocalDiscovery(address.namespace, address.directory === undefined ? {} : { directory: address.directory });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
