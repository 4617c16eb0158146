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
 * Lets in who speaks TLS and, where that is asked for, shows a certificate of the authority. Anyone else is told why not,
 * and gets no further.
 */
export class SecureDoor {
  readonly #handshakeTimeout: number;
  readonly #admitted: (socket: TLSSocket) => void;
  #server: Server;

  /** `admitted` gets each connection that may speak HTTP/2. */
  constructor(tls: ServerTls, handshakeTimeout: number, admitted: (socket: TLSSocket) => void) {
    this.#handshakeTimeout = handshakeTimeout;
    this.#admitted = admitted;
    this.#server = this.#serverFor(tls);
  }

  /** Takes in a new connection. One that says nothing is dropped after the time for the handshake. */
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

  /** It never listens: it only speaks TLS on the connections that it is given. */
  #serverFor(tls: ServerTls): Server {
    const { ca, key, cert, requestCert = ca !== undefined } = tls;
    const options: TlsOptions = {
      ca,
      key,
      cert,
      requestCert,
      // Node.js would drop the connection without a word; `authorized` says the same, and the client is told.
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2"],
      // Node.js takes no longer ones, and warns.
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
    // Node.js leaves a connection open whose handshake takes too long.
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }
}

/** The type says that it is an error; it is the code of the verification. */
function faultOf(socket: TLSSocket): string {
  const fault: unknown = socket.authorizationError;
  return messageOf(fault);
}
