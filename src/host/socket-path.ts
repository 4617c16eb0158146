import { InvalidArgument } from "../errors.ts";

/** Most bytes of a unix socket's path: the kernel's limit (108 on Linux, 104 elsewhere) less the final zero. */
export const MAX_SOCKET_PATH_BYTES = process.platform === "linux" ? 107 : 103;

/**
 * Returns `path` if a unix socket can be bound there.
 * @throws InvalidArgument when it is longer than the system allows.
 */
export function checkSocketPath(path: string): string {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return path;
  throw new InvalidArgument(
    `The socket path ${path} has ${bytes} bytes and this system allows ${MAX_SOCKET_PATH_BYTES}. ` +
      "Set XDG_RUNTIME_DIR to a shorter directory that only you can enter (mode 0700).",
  );
}
