import { MAX_SOCKET_PATH_BYTES } from "../checks/index.ts";

/** The parsed address that a channel connects to. */
export type Target =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

/**
 * Parses a target: `unix:/path`, `unix:path`, `host:port` or `[v6]:port`.
 *
 * @throws TypeError when it is none of these.
 */
export function parseTarget(text: string): Target {
  if (text.startsWith("unix:")) {
    const path = text.startsWith("unix:///") ? text.slice(7) : text.slice(5);
    checkSocketPath(path);
    return { kind: "unix", path };
  }
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new TypeError(
      `"${text}" is not an address to connect to. Give unix:/path/to/socket, host:port or [ipv6]:port with a port from 1 to 65535.`,
    );
  }
  return { kind: "tcp", host, port };
}

/**
 * Checks that a path can name a unix socket: the system silently truncates longer ones.
 *
 * @throws TypeError when it is empty or too long.
 */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > 0 && bytes <= MAX_SOCKET_PATH_BYTES && !path.includes("\0")) return;
  throw new TypeError(
    bytes > MAX_SOCKET_PATH_BYTES
      ? `the unix socket path "${path}" has ${bytes} bytes; the system allows ${MAX_SOCKET_PATH_BYTES}. Use a shorter directory.`
      : `${JSON.stringify(path)} cannot name a unix socket. Give a path such as /run/user/1000/worker.sock.`,
  );
}
