import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Dependency, PlainData } from "./shipment.ts";

/** Hash of a text or of bytes, used to address code and to compare modules. */
export function contentHash(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 32);
}

/** Hash of the content of some files. Throws when one cannot be read. */
export function hashOfFiles(paths: readonly string[]): string {
  return contentHash(paths.map((path) => contentHash(readFileSync(path))).join());
}

/** A dependency addressed by its content. */
export function dependencyOf(data: PlainData): Dependency {
  return { hash: contentHash(JSON.stringify(data)), data };
}
