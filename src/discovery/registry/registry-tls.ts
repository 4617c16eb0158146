import { readFileSync } from "node:fs";
import { InvalidArgument } from "../../errors.ts";

/** TLS to a registry: its authority, and for mutual TLS a key with its certificate, as PEM. */
export interface RegistryTls {
  readonly ca?: string | Buffer;
  readonly key?: string | Buffer;
  readonly cert?: string | Buffer;
  /** The name that the server's certificate must have; its host by default. */
  readonly servername?: string;
}

/** Reads the TLS options from files. Throws `InvalidArgument` that names the file that cannot be read. */
export function readRegistryTls(paths: {
  readonly ca?: string;
  readonly key?: string;
  readonly cert?: string;
}): RegistryTls {
  const tls: { ca?: Buffer; key?: Buffer; cert?: Buffer } = {};
  for (const part of ["ca", "key", "cert"] as const) {
    const path = paths[part];
    if (path === undefined) continue;
    try {
      tls[part] = readFileSync(path);
    } catch (error) {
      throw new InvalidArgument(`the ${part} of the registry cannot be read: ${String(error)}`, { cause: error });
    }
  }
  return tls;
}
