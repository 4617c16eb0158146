import type { WorkerMetadata } from "../discovery/index.ts";
import { routine } from "../routine/index.ts";
import type { WorkerCredentialsProvider } from "../security/index.ts";
import type { Finding } from "./doctor-checks.ts";
import { withWorker } from "./found-workers.ts";

/** Runs in a worker: which of these addresses cannot be connected to from there, and why. */
const reachFromThere = routine(
  async (targets: readonly { readonly host: string; readonly port: number }[]) => {
    const { connect } = await import("node:net");
    const attempts = targets.map(
      ({ host, port }) =>
        new Promise<string>((resolve) => {
          const socket = connect({ host, port, timeout: 3000 });
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

/** Can the workers reach each other, as tasks that call routines need? */
export async function checkPeers(
  workers: readonly WorkerMetadata[],
  credentials: WorkerCredentialsProvider | undefined,
): Promise<Finding[]> {
  const remote = workers.flatMap((worker) => {
    const [, host, port] = /^(?:\[(?=.*\]))?(.+?)\]?:(\d+)$/.exec(worker.address) ?? [];
    const isRemote = !worker.address.startsWith("unix:") && host !== undefined;
    return isRemote ? [{ worker, host, port: Number(port) }] : [];
  });
  if (remote.length < 2) return [];
  const targets = remote.map(({ host, port }) => ({ host, port }));
  const findings = await Promise.all(
    remote.map(async ({ worker }): Promise<Finding | undefined> => {
      const subject = `from worker ${worker.uid}`;
      let answers: readonly string[];
      try {
        answers = await withWorker(
          worker,
          credentials,
          (connection) => connection.dispatch(reachFromThere, targets),
          10_000,
        );
      } catch {
        // That it cannot be reached itself is a finding of its own.
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
