import { randomUUID, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MAX_SOCKET_PATH_BYTES } from "../checks/index.ts";
import { LanDiscovery, machineInterfaces, type WorkerMetadata } from "../discovery/index.ts";
import { runtimeDirectory } from "../host/index.ts";
import type { WorkerCredentialsProvider } from "../security/index.ts";
import { reasonOf, withWorker } from "./found-workers.ts";
import { packageVersion } from "./package-version.ts";

/** The result of one check. */
export interface Finding {
  /** What was checked. */
  readonly subject: string;
  /** `note`: neither good nor bad, but worth knowing. */
  readonly verdict: "good" | "bad" | "note";
  readonly answer: string;
  /** How to fix it; empty if there is nothing to fix. */
  readonly fix: string;
}

const good = (subject: string, answer: string): Finding => ({ subject, verdict: "good", answer, fix: "" });
const note = (subject: string, answer: string, fix = ""): Finding => ({ subject, verdict: "note", answer, fix });
const bad = (subject: string, answer: string, fix: string): Finding => ({ subject, verdict: "bad", answer, fix });

/** The oldest supported version of Node.js, as major and minor. */
const NODE = [20, 19] as const;
/** Fewer open files than this cause trouble for a pool of some size. */
const FEW_FILES = 1024;
/** A name like those of workers' sockets. */
const SOCKET_NAME = "p123456-abcdefghij/w-0123456789ab.sock";
const DAY_MS = 24 * 3600 * 1000;
const SOON_DAYS = 14;
/** How long a packet may take from this machine to itself, in milliseconds; less for the loopback interface. */
const MULTICAST_MS = 5000;
const LOOPBACK_MS = 2500;

/** Are the versions recent enough? */
export function checkVersions(): Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isRecent = major > NODE[0] || (major === NODE[0] && minor >= NODE[1]);
  const node = `Node.js ${process.versions.node}`;
  return [
    good("wool-ts", packageVersion()),
    isRecent ? good("Node.js", node) : bad("Node.js", `${node} is too old`, `install ${NODE.join(".")} or later`),
  ];
}

/** Can this user keep sockets and entries on this machine? */
export function checkRuntimeDirectory(): Finding[] {
  const subject = "runtime directory";
  let directory: string;
  try {
    directory = runtimeDirectory();
    const file = join(directory, `.doctor-${process.pid}`);
    writeFileSync(file, "");
    unlinkSync(file);
  } catch (error) {
    return [bad(subject, reasonOf(error), "set XDG_RUNTIME_DIR to a directory that you own, with mode 0700")];
  }
  const bytes = Buffer.byteLength(join(directory, SOCKET_NAME));
  const paths =
    bytes <= MAX_SOCKET_PATH_BYTES
      ? good("socket paths", `${bytes} of ${MAX_SOCKET_PATH_BYTES} bytes`)
      : bad(
          "socket paths",
          `${bytes} bytes, and the system allows ${MAX_SOCKET_PATH_BYTES}`,
          "set XDG_RUNTIME_DIR, or TMPDIR, to a directory with a shorter path",
        );
  const session = process.env["XDG_RUNTIME_DIR"] ?? "";
  const isUsed = session === "" || dirname(directory) === session.replace(/\/+$/, "");
  const answer = `${directory} can be written`;
  if (isUsed) return [good(subject, answer), paths];
  const fix = `programs that use another one do not find each other: give ${session} mode 0700 and a short path, or unset XDG_RUNTIME_DIR`;
  return [note(subject, `${answer}; XDG_RUNTIME_DIR is ${session}, but that directory cannot be used`, fix), paths];
}

/** Can this process open enough files? */
export function checkFileLimit(): Finding[] {
  const subject = "open files";
  const limits = existsSync("/proc/self/limits") ? readFileSync("/proc/self/limits", "utf8") : "";
  const limit = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (limit === undefined) return [note(subject, "this system does not report its limit")];
  if (limit === "unlimited" || Number(limit) >= FEW_FILES) return [good(subject, `up to ${limit}`)];
  return [bad(subject, `at most ${limit}: each connection and worker needs some`, `run ulimit -n ${4 * FEW_FILES}`)];
}

/** Are the certificates valid, and for how long? */
export function checkCertificates(files: Readonly<Record<string, string | undefined>>): Finding[] {
  return Object.entries(files).flatMap(([part, file]) => {
    if (file === undefined) return [];
    const subject = `certificate ${file}`;
    try {
      const { validFrom, validTo } = new X509Certificate(readFileSync(file));
      const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
      if (Date.parse(validFrom) > Date.now()) {
        return [bad(subject, `not valid before ${validFrom}`, "check the clock of this machine")];
      }
      if (days < 0) return [bad(subject, `expired on ${validTo}`, "renew it: wool certs renew")];
      if (days < SOON_DAYS) return [note(subject, `expires in ${days} days`, "renew it: wool certs renew")];
      return [good(subject, `valid for ${days} days`)];
    } catch (error) {
      return [bad(subject, `${part} cannot be read: ${reasonOf(error)}`, "give a certificate in PEM form")];
    }
  });
}

/** Does multicast come back on each interface? */
export async function checkMulticast(port?: number): Promise<Finding[]> {
  const interfaces = machineInterfaces();
  if (interfaces.length === 0)
    return [bad("multicast", "no network interface is up", "bring one up: ip link set eth0 up")];
  return await Promise.all(
    interfaces.map(async ({ name, isLoopback }): Promise<Finding> => {
      const subject = `multicast on ${name}`;
      try {
        await echo(name, port, isLoopback ? LOOPBACK_MS : MULTICAST_MS);
        return good(subject, "packets that are sent there arrive");
      } catch (error) {
        if (isLoopback) return note(subject, reasonOf(error), "needed only for lan: within this machine");
        const fix = `allow UDP port 5353 in the firewall, and multicast on ${name} (ip link set ${name} multicast on)`;
        return bad(subject, reasonOf(error), `${fix}; else use etcd:, redis: or dns:`);
      }
    }),
  );
}

/** Announces a worker on an interface, and finds it there. */
async function echo(name: string, port: number | undefined, limit: number): Promise<void> {
  const namespace = `doctor-${randomUUID()}`;
  const options = { interfaces: [name], ...(port === undefined ? {} : { port }) };
  const [speaker, listener] = [new LanDiscovery(namespace, options), new LanDiscovery(namespace, options)];
  const worker = { uid: "doctor", address: "0.0.0.0:1", pid: 0, version: "", tags: new Set<string>(), extra: {} };
  const heard = listener.subscribe()[Symbol.asyncIterator]().next();
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("packets that are sent there do not arrive")), limit);
  });
  try {
    await Promise.race([
      speaker.publisher.publish("worker-added", { ...worker, secure: false, channel: {} }).then(() => heard),
      silence,
    ]);
  } finally {
    clearTimeout(timer);
    await Promise.all([speaker.dispose(), listener.dispose()]);
  }
}

/** Can each worker be reached from here, and does its version fit? */
export async function checkWorkers(
  workers: readonly WorkerMetadata[],
  credentials: WorkerCredentialsProvider | undefined,
): Promise<Finding[]> {
  const own = packageVersion();
  return await Promise.all(
    workers.map(async (worker): Promise<Finding> => {
      const subject = `worker ${worker.uid}`;
      const started = performance.now();
      try {
        await withWorker(worker, credentials, (connection) => connection.idleTime());
      } catch (error) {
        const fix = `check that ${worker.address} is an address of its machine that this one can route to (--advertise), and that no firewall blocks the connection`;
        return bad(subject, `announced at ${worker.address}, and cannot be reached: ${reasonOf(error)}`, fix);
      }
      const answer = `answers at ${worker.address} in ${Math.round(performance.now() - started)} ms`;
      if (worker.version === own || worker.version === "") return good(subject, answer);
      return note(subject, `${answer}; it has version ${worker.version}`, `install ${own} there if calls fail`);
    }),
  );
}
