import type { ClientHttp2Session } from "node:http2";
import { connect as connectNet, isIP, type Socket } from "node:net";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { LoopTimeout } from "../loop-timeout.ts";
import { StatusCode } from "../protocol/index.ts";
import type { Target } from "../target.ts";
import { describeTlsFault } from "../tls-faults.ts";
import { ChannelError, type ChannelErrorKind } from "./channel-error.ts";

/** The error code INADEQUATE_SECURITY of HTTP/2. */
const INADEQUATE_SECURITY = 0xc;

/** TLS on the client's side; `key` and `cert` for mutual TLS. */
export interface ClientTls extends Pick<ConnectionOptions, "ca" | "key" | "cert"> {
  /**
   * The name that is requested, and that the server's certificate must have; the target's host by default, `localhost`
   * for a unix socket.
   */
  readonly servername?: string;
  /** Checks the name in a certificate that `ca` has issued; by default it must be `servername`. */
  readonly checkServerIdentity?: ConnectionOptions["checkServerIdentity"];
}

/** How `connectSession` connects. */
export interface ConnectOptions {
  readonly target: Target;
  /** The target as the user gave it, for messages. */
  readonly targetText: string;
  readonly tls: ClientTls | undefined;
  /** Milliseconds until the peer's first HTTP/2 settings must have arrived. */
  readonly timeout: number;
  readonly windowBytes: number;
}

/** An HTTP/2 session being set up: its socket, and a promise of the session. */
export interface PendingSession {
  readonly socket: Socket;
  readonly session: Promise<ClientHttp2Session>;
}

/**
 * Connects to a target and waits for the first HTTP/2 settings of the peer: only they prove that a live process
 * accepted the connection and, in TLS 1.3, that it accepted the client's certificate. On failure the promise rejects
 * with a `ChannelError` and the socket is destroyed. Destroying the socket ends the attempt.
 */
export function connectSession(options: ConnectOptions): PendingSession {
  const { target, targetText, tls, windowBytes } = options;
  const socket = openSocket(target, tls);
  let phase: "socket" | "tls" | "http2" = "socket";
  const session = new Promise<ClientHttp2Session>((resolve, reject) => {
    let http2Session: ClientHttp2Session | undefined;
    const fail = (kind: ChannelErrorKind, reason: string, cause?: unknown): void => {
      timer.clear();
      reject(
        new ChannelError(StatusCode.UNAVAILABLE, kind, false, `cannot connect to ${targetText}: ${reason}`, cause),
      );
      http2Session?.destroy();
      socket.destroy();
    };
    const failed = (cause: Error): void => {
      const kind = classify(phase, tls !== undefined, cause);
      const fault = kind === "handshake" ? describeTlsFault(cause) : undefined;
      fail(kind, fault === undefined ? `${cause.message}. ${ADVICE[kind]}` : `${fault}.`, cause);
    };
    const timer = new LoopTimeout(
      () => fail("timeout", `no answer within ${options.timeout} ms (${WAITING_FOR[phase]}). ${ADVICE.timeout}`),
      options.timeout,
    );
    const speakHttp2 = (): void => {
      if (isTls(socket) && socket.alpnProtocol !== "h2") {
        fail("handshake", "the server did not agree on HTTP/2 (ALPN h2). Is this the port of a gRPC server?");
        return;
      }
      phase = "http2";
      // Loaded when it is needed: most task threads make no connection, and start 4 ms sooner without it.
      const { connect } = process.getBuiltinModule("node:http2");
      http2Session = connect(`${tls === undefined ? "http" : "https"}://${authority(target)}`, {
        createConnection: () => socket,
        settings: { initialWindowSize: windowBytes, enablePush: false },
        maxSessionMemory: 1000,
      });
      http2Session.on("error", failed);
      http2Session.once("connect", () => http2Session?.setLocalWindowSize(windowBytes));
      http2Session.once("goaway", (code: number, _lastStream: number, text?: Uint8Array) => {
        if (code !== INADEQUATE_SECURITY) return;
        fail("handshake", `${text === undefined ? "the server requires TLS" : Buffer.from(text).toString("utf8")}.`);
      });
      // A server that refuses this client says so right after its settings.
      http2Session.once("remoteSettings", () => setImmediate(connected));
      const connected = (): void => {
        if (http2Session === undefined || http2Session.destroyed) return;
        timer.clear();
        socket.off("error", failed);
        socket.off("close", dropped);
        http2Session.off("error", failed);
        // An error that comes before the channel listens shows as a destroyed session.
        http2Session.on("error", () => {});
        socket.on("error", () => {});
        resolve(http2Session);
      };
    };
    const dropped = (): void => failed(new Error("the connection was closed before the server spoke HTTP/2"));
    socket.on("error", failed);
    socket.on("close", dropped);
    socket.once("connect", () => {
      if (tls === undefined) speakHttp2();
      else phase = "tls";
    });
    if (tls !== undefined) socket.once("secureConnect", speakHttp2);
  });
  return { socket, session };
}

const WAITING_FOR = {
  socket: "waiting for the connection",
  tls: "waiting for the TLS handshake",
  http2: "waiting for the server's HTTP/2 settings",
};

const ADVICE: Record<ChannelErrorKind, string> = {
  refused: "Check that the worker runs and listens there.",
  handshake:
    "Check that both sides use TLS or neither does, that the certificate is valid now, names this host and comes from the given CA.",
  timeout: "Check that the worker runs and that no firewall drops the packets.",
  closed: "Open a new channel.",
};

function classify(phase: "socket" | "tls" | "http2", secure: boolean, cause: Error): ChannelErrorKind {
  if (phase === "socket") return "refused";
  // A server that refuses the client's certificate may reset the connection before its alert is read.
  if (secure) return "handshake";
  const code = "code" in cause ? cause.code : undefined;
  return typeof code === "string" && code.startsWith("ERR_HTTP2") ? "handshake" : "refused";
}

function openSocket(target: Target, tls: ClientTls | undefined): Socket {
  const place = target.kind === "unix" ? { path: target.path } : { host: target.host, port: target.port };
  if (tls === undefined) {
    const socket = connectNet(place);
    socket.setNoDelay(true);
    return socket;
  }
  const { servername = defaultServername(target), ca, key, cert } = tls;
  const { checkServerIdentity, connect } = process.getBuiltinModule("node:tls");
  const socket = connect({
    ...place,
    ca,
    key,
    cert,
    servername,
    checkServerIdentity: tls.checkServerIdentity ?? checkServerIdentity,
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.2",
    // Also when the environment turns the check off for the whole process.
    rejectUnauthorized: true,
  });
  socket.setNoDelay(true);
  return socket;
}

function isTls(socket: Socket): socket is TLSSocket {
  return "alpnProtocol" in socket;
}

function defaultServername(target: Target): string {
  if (target.kind === "unix") return "localhost";
  // An address is not a server name; Node then checks the certificate against the host.
  return isIP(target.host) === 0 ? target.host : "";
}

function authority(target: Target): string {
  if (target.kind === "unix") return "localhost";
  return target.host.includes(":")
    ? `[${target.host.replace(/%.*$/, "")}]:${target.port}`
    : `${target.host}:${target.port}`;
}
