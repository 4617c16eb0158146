import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { WorkerMetadata } from "../discovery/index.ts";
import type { WorkerConnection } from "../proxy/index.ts";
import { routine } from "../routine/index.ts";
import type { WorkerCredentialsProvider } from "../security/index.ts";
import type { Finding } from "./doctor-checks.ts";
import { withWorker } from "./found-workers.ts";

/** Runs in a worker: returns which of these addresses cannot be connected to from there, and why. */
const reachFromThere = routine(
  async (targets: readonly { readonly host: string; readonly port: number }[]) => {
    const net = await import("node:net");
    const attempts = targets.map(
      ({ host, port }) =>
        new Promise<string>((resolve) => {
          const socket = net.connect({ host, port, timeout: 3000 });
          const end = (reason: string): void => {
            socket.destroy();
            resolve(reason);
          };
          socket.on("connect", () => end(""));
          socket.on("timeout", () => end("no answer within 3000 ms"));
          socket.on("error", (error) => end(error.message));
        }),
    );
    return await Promise.all(attempts);
  },
  { name: "reachFromThere", ship: "value" },
);

/** Asks a worker to try the addresses, if it answers at all: a call would wait for a worker that does not. */
async function lookFromThere(
  connection: WorkerConnection,
  targets: readonly { readonly host: string; readonly port: number }[],
): Promise<readonly string[]> {
  await connection.idleTime();
  return await connection.dispatch(reachFromThere, targets);
}

/** A worker that listens on a port. */
interface RemoteWorker {
  readonly worker: WorkerMetadata;
  readonly host: string;
  readonly port: number;
}

function remoteOnes(workers: readonly WorkerMetadata[]): RemoteWorker[] {
  return workers.flatMap((worker) => {
    const [, host, port] = /^(?:\[(?=.*\]))?(.+?)\]?:(\d+)$/.exec(worker.address) ?? [];
    const isRemote = !worker.address.startsWith("unix:") && host !== undefined;
    return isRemote ? [{ worker, host, port: Number(port) }] : [];
  });
}

/**
 * Can this machine be reached from each worker? Calls need no connection back. But tasks there may call workers here:
 * those that a pool starts besides the ones that it finds.
 */
export async function checkWayBack(
  workers: readonly WorkerMetadata[],
  credentials: WorkerCredentialsProvider | undefined,
): Promise<Finding[]> {
  const findings = await Promise.all(
    remoteOnes(workers).map(async ({ worker, host, port }): Promise<Finding | undefined> => {
      const subject = `way back from worker ${worker.uid}`;
      let [own, reason] = ["", ""];
      try {
        own = await addressTowards(host, port);
        // A link-local address is useless without the interface, and the interface has another name there.
        if (own.startsWith("fe80:")) return undefined;
        const server = createServer((socket) => socket.destroy()).listen(0, own);
        try {
          await once(server, "listening");
          const bound = server.address();
          const target = { host: own, port: typeof bound === "object" && bound !== null ? bound.port : 0 };
          const look = (connection: WorkerConnection) => lookFromThere(connection, [target]);
          [reason = ""] = await withWorker(worker, credentials, look, 10_000);
        } finally {
          server.close();
        }
      } catch {
        // Another check reports that the worker cannot be reached.
        return undefined;
      }
      if (reason === "") return { subject, verdict: "good", answer: `this machine can be reached at ${own}`, fix: "" };
      const fix =
        "calls from here work; to use workers of this machine in the same pool, allow connections from there: in the firewall, or with a network without NAT";
      return { subject, verdict: "note", answer: `this machine cannot be reached at ${own}: ${reason}`, fix };
    }),
  );
  return findings.filter((finding) => finding !== undefined);
}

/** The address of this machine from which connections to that host come. */
async function addressTowards(host: string, port: number): Promise<string> {
  const socket = connect({ host, port, timeout: 3000 });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on("connect", resolve).on("error", reject);
      socket.on("timeout", () => reject(new Error("no answer within 3000 ms")));
    });
    return socket.localAddress ?? "";
  } finally {
    socket.destroy();
  }
}

/** Can the workers reach each other? Tasks that call routines need that. */
export async function checkPeers(
  workers: readonly WorkerMetadata[],
  credentials: WorkerCredentialsProvider | undefined,
): Promise<Finding[]> {
  const remote = remoteOnes(workers);
  if (remote.length < 2) return [];
  const targets = remote.map(({ host, port }) => ({ host, port }));
  const findings = await Promise.all(
    remote.map(async ({ worker }): Promise<Finding | undefined> => {
      const subject = `from worker ${worker.uid}`;
      let answers: readonly string[];
      try {
        answers = await withWorker(worker, credentials, (connection) => lookFromThere(connection, targets), 10_000);
      } catch {
        // Another check reports that the worker cannot be reached.
        return undefined;
      }
      const failures = answers.flatMap((reason, index) =>
        reason === "" ? [] : [`${remote[index]?.worker.uid}: ${reason}`],
      );
      if (failures.length === 0) {
        return { subject, verdict: "good", answer: `all ${remote.length} workers can be reached`, fix: "" };
      }
      const fix = "nested calls go from worker to worker: open the ports of workers between their machines";
      return { subject, verdict: "bad", answer: `cannot reach ${failures.join("; ")}`, fix };
    }),
  );
  return findings.filter((finding) => finding !== undefined);
}
