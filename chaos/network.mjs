import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

const PREFIX = "wool-chaos-";
const NAMESPACES = "/run/netns";
/** The name of the link at both ends. */
const DEVICE = "wire";
/** Addresses reserved for documentation: no network of the machine has them. */
const CALLER_ADDRESS = "192.0.2.1";
const WORKER_ADDRESS = "192.0.2.2";

/** Why network namespaces are impossible here, or `undefined`. */
export function namespaceProblem() {
  if (process.platform !== "linux") return "network namespaces exist only on Linux";
  if (process.geteuid?.() !== 0) return "network namespaces need root";
  const folders = (process.env.PATH ?? "").split(":");
  const missing = ["ip", "tc"].filter((tool) => !folders.some((folder) => existsSync(`${folder}/${tool}`)));
  return missing.length === 0 ? undefined : `${missing.join(" and ")} of iproute2 are missing`;
}

/**
 * Two network namespaces with a link between them: one for the caller and one for workers. The rest of the machine's
 * network is not touched, and `remove()` removes both. The next run removes those of killed runs.
 */
export class Network {
  callerNamespace = `${PREFIX}${process.pid}-c`;
  workerNamespace = `${PREFIX}${process.pid}-w`;
  workerAddress = WORKER_ADDRESS;
  /** Why packets cannot be delayed and lost, or `undefined` when they can. */
  netemProblem;

  /** Rejects with the reason when it fails, and leaves nothing behind. */
  async create() {
    await removeAbandoned();
    try {
      for (const namespace of [this.callerNamespace, this.workerNamespace]) {
        await run("ip", ["netns", "add", namespace]);
        await run("ip", ["-n", namespace, "link", "set", "lo", "up"]);
      }
      const ends = [
        "netns",
        this.callerNamespace,
        "type",
        "veth",
        "peer",
        "name",
        DEVICE,
        "netns",
        this.workerNamespace,
      ];
      await run("ip", ["link", "add", DEVICE, ...ends]);
      await this.#configure(this.callerNamespace, CALLER_ADDRESS);
      await this.#configure(this.workerNamespace, WORKER_ADDRESS);
      await run("ip", ["netns", "exec", this.callerNamespace, "true"]);
    } catch (error) {
      await this.remove();
      throw error;
    }
    this.netemProblem = await this.#probeNetem();
  }

  async remove() {
    for (const namespace of [this.callerNamespace, this.workerNamespace]) {
      if (existsSync(`${NAMESPACES}/${namespace}`)) await run("ip", ["netns", "del", namespace]);
    }
  }

  /** What is left of the network. */
  leftovers() {
    return [this.callerNamespace, this.workerNamespace].filter((name) => existsSync(`${NAMESPACES}/${name}`));
  }

  async #configure(namespace, address) {
    await run("ip", ["-n", namespace, "addr", "add", `${address}/30`, "dev", DEVICE]);
    await run("ip", ["-n", namespace, "link", "set", DEVICE, "up"]);
  }

  async #probeNetem() {
    try {
      await shape(this.workerNamespace, ["netem", "delay", "1ms"]);
      await unshape(this.workerNamespace);
      return undefined;
    } catch (error) {
      return `the kernel has no netem (${String(error.stderr ?? error.message).trim()})`;
    }
  }
}

/** Takes the link to the workers of a namespace down, or brings it up again. */
export async function setLink(namespace, state) {
  await run("ip", ["-n", namespace, "link", "set", DEVICE, state]);
}

/** Sends the packets that leave a namespace through a queueing discipline, in the form that `tc` takes. */
export async function shape(namespace, discipline) {
  await run("tc", ["-n", namespace, "qdisc", "replace", "dev", DEVICE, "root", ...discipline]);
}

/** Undoes `shape`. */
export async function unshape(namespace) {
  await run("tc", ["-n", namespace, "qdisc", "del", "dev", DEVICE, "root"]);
}

async function removeAbandoned() {
  if (!existsSync(NAMESPACES)) return;
  for (const name of readdirSync(NAMESPACES)) {
    const pid = name.startsWith(PREFIX) ? /^\d+/.exec(name.slice(PREFIX.length))?.[0] : undefined;
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await run("ip", ["netns", "del", name]);
  }
}
