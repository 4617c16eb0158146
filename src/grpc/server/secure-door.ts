import { constants } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import { messageOf } from "../../checks/index.ts";
import { LONGEST_DELAY_MS, Timer } from "../../time/index.ts";
import { describeClientFault } from "../tls-faults.ts";
import { refuseConnection } from "./refuse-connection.ts";

/** The first byte of a TLS handshake. */
const HANDSHAKE_RECORD = 0x16;

/** TLS on the server's side. */
export interface ServerTls extends Pick<SecureContextOptions, "ca" | "key" | "cert"> {
  /** Whether clients must show a certificate of `ca` (mutual TLS); true by default when `ca` is given. */
  readonly requestCert?: boolean;
}

/**
 * Admits clients that speak TLS and, if required, show a certificate of the authority. Other clients are told why they
 * are refused.
 */
export class SecureDoor {
  readonly #handshakeTimeout: number;
  readonly #admitted: (socket: TLSSocket) => void;
  #server: Server;

  /** `admitted` is called with each connection that may speak HTTP/2. */
  constructor(tls: ServerTls, handshakeTimeout: number, admitted: (socket: TLSSocket) => void) {
    this.#handshakeTimeout = handshakeTimeout;
    this.#admitted = admitted;
    this.#server = this.#serverFor(tls);
  }

  /** Checks a new connection. A silent one is dropped after the handshake timeout. */
  admit(socket: Socket): void {
    const silence = new Timer(this.#handshakeTimeout, () => socket.destroy()).unref();
    socket.once("close", () => silence.clear());
    socket.once("readable", () => {
      silence.clear();
      const first: unknown = socket.read();
      if (!Buffer.isBuffer(first)) {
        socket.destroy();
      } else if (first[0] === HANDSHAKE_RECORD) {
        socket.unshift(first);
        this.#server.emit("connection", socket);
      } else {
        refuseConnection(socket, "this worker speaks TLS only. Give the caller credentials");
      }
    });
  }

  /** Uses other certificates for new connections; running ones go on. */
  setTls(tls: ServerTls): void {
    this.#server = this.#serverFor(tls);
  }

  /** A server that never listens: it only speaks TLS on the connections that it is given. */
  #serverFor(tls: ServerTls): Server {
    const { ca, key, cert, requestCert = ca !== undefined } = tls;
    const options: TlsOptions = {
      ca,
      key,
      cert,
      requestCert,
      // Node.js would drop the connection without a reason. `authorized` gives the same result, and the client is told.
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2"],
      // Node.js warns about longer ones and does not use them.
      handshakeTimeout: Math.min(this.#handshakeTimeout, LONGEST_DELAY_MS),
      // A resumed session would skip the check of the certificate, also after that was replaced or has expired.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
    const server = createServer(options, (socket) => {
      socket.on("error", () => {});
      if (requestCert && !socket.authorized) refuseConnection(socket, describeClientFault(faultOf(socket)));
      else if (socket.alpnProtocol !== "h2") socket.destroy();
      else this.#admitted(socket);
    });
    // Node.js leaves a connection open if its handshake takes too long.
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }
}

/** `authorizationError` has the type of an error, but holds the code of the verification. */
function faultOf(socket: TLSSocket): string {
  const fault: unknown = socket.authorizationError;
  return messageOf(fault);
}
