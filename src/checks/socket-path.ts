const LIMITS: Partial<Record<NodeJS.Platform, number>> = { linux: 107, win32: Number.POSITIVE_INFINITY };

/** Most bytes of a unix socket's path: the limit of the system (108 on Linux, 104 elsewhere) less the final zero. */
export const MAX_SOCKET_PATH_BYTES = LIMITS[process.platform] ?? 103;
