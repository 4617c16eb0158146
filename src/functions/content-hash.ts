import { createHash } from "node:crypto";
import type { Dependency, PlainData } from "./shipment.ts";

/** Hash of a text or of bytes, as it is used to address code and to compare modules. */
export function contentHash(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 32);
}

/** A dependency addressed by its content. */
export function dependencyOf(data: PlainData): Dependency {
  return { hash: contentHash(JSON.stringify(data)), data };
}
