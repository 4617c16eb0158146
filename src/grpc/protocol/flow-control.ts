/**
 * The flow-control window of HTTP/2 connections and streams: 128 KiB. Node does not read from a socket while a write to it is
 * pending, so with windows larger than the socket's buffer, two peers that both send could wait for each other forever.
 */
export const DEFAULT_WINDOW_BYTES = 128 * 1024;

/** With this many bytes queued on a stream, `send` returns false: 128 KiB. */
export const HIGH_WATER_BYTES = 128 * 1024;

/** Largest request of methods that carry no payloads: 64 KiB. A peer can have a hundred of them under way. */
export const SMALL_REQUEST_BYTES = 64 * 1024;
