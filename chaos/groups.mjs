import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { LocalDiscovery, LocalWorker, WorkerPool, WorkerProxy } from "wool-ts";
import { Forwarder } from "./forwarder.mjs";

const HOST = fileURLToPath(new URL("./host.mjs", import.meta.url));

/** Enough memory for the calls, but soon exhausted by the task that should exhaust it. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64 };

/** How long a host may take to do what it is told, in milliseconds. */
const HOST_LIMIT_MS = 30_000;

/**
 * A place for a worker. `empty`: no worker. `changing`: a worker starts or stops. `filled`: a worker runs. Subclasses
 * implement `fill()` and `clear(timeoutMs)`.
 */
class Slot {
  name;
  state = "empty";
  #worker;
  #fill;
  #clear;

  constructor(name, { worker, fill, clear }) {
    this.name = name;
    this.#worker = worker;
    this.#fill = fill;
    this.#clear = clear;
  }

  /** `{ pid, address }` of its worker, `owner` the process that it belongs to if that is another one. */
  get worker() {
    return this.state === "filled" ? this.#worker() : undefined;
  }

  async fill() {
    this.state = "changing";
    try {
      await this.#fill();
      this.state = "filled";
    } catch (error) {
      this.state = "empty";
      throw error;
    }
  }

  async clear(timeoutMs) {
    this.state = "changing";
    try {
      await this.#clear(timeoutMs);
    } finally {
      this.state = "empty";
    }
  }
}

/** A pool of two workers of this process, which start and stop together. */
export class PoolGroup {
  name = "pool";
  dispatchers = [];
  slots;
  #pool;
  #state = "stopped";

  constructor() {
    const whole = {
      fill: () => Promise.reject(new Error("the workers of a pool start together")),
      clear: () => Promise.reject(new Error("the workers of a pool stop together")),
    };
    this.slots = [0, 1].map(
      (index) => new Slot(`pool:${index}`, { ...whole, worker: () => [...this.#pool.workers.values()][index] }),
    );
  }

  /** Whether a stop or a replacement is under way. */
  get isChanging() {
    return this.#state === "changing";
  }

  /** Whether a worker is missing. */
  get isDamaged() {
    return this.#state === "open" && this.#pool.workers.size < this.slots.length;
  }

  async start() {
    this.#pool = await WorkerPool.start({
      size: 2,
      // A killed worker stays away until the fault is repaired.
      worker: (options) => new LocalWorker(options),
      workerOptions: { threads: 2, resourceLimits: RESOURCE_LIMITS },
      maxPending: 2000,
    });
    this.#opened();
  }

  /** Starts another pool that takes over, and then stops this one. */
  async replace(timeoutMs) {
    const old = this.#pool;
    this.#state = "changing";
    await this.start();
    await old.stop({ timeout: timeoutMs });
  }

  /** Stops with calls under way. Calls made before `start` get a closed pool. */
  async stop(timeoutMs = 0) {
    this.#state = "changing";
    for (const slot of this.slots) slot.state = "empty";
    await this.#pool?.stop({ timeout: timeoutMs });
    this.#state = "stopped";
  }

  #opened() {
    this.#state = "open";
    this.dispatchers = [this.#pool];
    for (const slot of this.slots) slot.state = "filled";
  }
}

/** Workers that find each other in a namespace: two of this process, and guests that come and go. */
export class FleetGroup {
  name = "fleet";
  dispatchers = [];
  slots;
  #namespace;

  constructor(namespace, hosts) {
    this.#namespace = namespace;
    this.slots = [
      memberSlot("fleet:0", { namespace, workerOptions: { resourceLimits: RESOURCE_LIMITS } }),
      memberSlot("fleet:1", { namespace, workerOptions: { resourceLimits: RESOURCE_LIMITS, maxConcurrency: 8 } }),
      hostedSlot("fleet:2", { namespace, workerOptions: {} }, hosts, []),
      hostedSlot("fleet:3", { namespace, workerOptions: {} }, hosts, []),
    ];
  }

  async start() {
    await Promise.all(this.slots.slice(0, 2).map((slot) => slot.fill()));
    const proxy = new WorkerProxy({ namespace: this.#namespace });
    await proxy.start();
    const pool = await WorkerPool.start({ discovery: new LocalDiscovery(this.#namespace) });
    this.dispatchers = [proxy, pool];
  }

  async stop() {
    await Promise.all(this.dispatchers.map((dispatcher) => dispatcher.stop()));
    await Promise.all(this.slots.filter(({ state }) => state !== "empty").map((slot) => slot.clear(0)));
  }
}

/** Two workers on TCP, each behind a forwarder that can cut, hold up and delay connections. */
export class TcpGroup {
  name = "tcp";
  dispatchers = [];
  slots;
  forwarders = [new Forwarder(), new Forwarder()];

  constructor() {
    const workerOptions = { host: "127.0.0.1", resourceLimits: RESOURCE_LIMITS };
    this.slots = this.forwarders.map((forwarder, index) => {
      return memberSlot(`tcp:${index}`, { workerOptions }, (address) => {
        forwarder.target = address === undefined ? undefined : parseAddress(address);
      });
    });
  }

  async start() {
    const addresses = await Promise.all(this.forwarders.map((forwarder) => forwarder.listen()));
    await Promise.all(this.slots.map((slot) => slot.fill()));
    this.dispatchers = [new WorkerProxy({ workers: addresses })];
  }

  async stop() {
    await Promise.all(this.dispatchers.map((dispatcher) => dispatcher.stop()));
    await Promise.all(this.slots.filter(({ state }) => state !== "empty").map((slot) => slot.clear(0)));
    await Promise.all(this.forwarders.map((forwarder) => forwarder.close()));
  }
}

/** Two workers behind their own network link. */
export class NetGroup {
  name = "net";
  dispatchers = [];
  slots;
  #namespace;

  constructor(namespace, hosts, network) {
    this.#namespace = namespace;
    const options = { namespace, workerOptions: { host: network.workerAddress } };
    const within = ["ip", "netns", "exec", network.workerNamespace];
    this.slots = [0, 1].map((index) => hostedSlot(`net:${index}`, options, hosts, within));
  }

  async start() {
    await Promise.all(this.slots.map((slot) => slot.fill()));
    this.dispatchers = [new WorkerProxy({ namespace: this.#namespace })];
  }

  async stop() {
    await Promise.all(this.dispatchers.map((dispatcher) => dispatcher.stop()));
    await Promise.all(this.slots.filter(({ state }) => state !== "empty").map((slot) => slot.clear(0)));
  }
}

/** A slot whose worker is a pool of one in this process. */
function memberSlot(name, { namespace, workerOptions }, moved = () => undefined) {
  let pool;
  const extra = { owner: `${process.pid}/${name}` };
  const ownWorker = () => [...pool.workers.values()][0];
  return new Slot(name, {
    worker: ownWorker,
    fill: async () => {
      pool = await WorkerPool.start({
        size: 1,
        // A killed worker stays away until the fault is repaired.
        worker: (options) => new LocalWorker(options),
        workerOptions: { ...workerOptions, extra },
        filter: (worker) => worker.extra.owner === extra.owner,
        ...(namespace === undefined ? {} : { discovery: new LocalDiscovery(namespace) }),
      });
      moved(ownWorker()?.address);
    },
    clear: async (timeoutMs) => {
      moved(undefined);
      await pool.stop({ timeout: timeoutMs });
    },
  });
}

/** A slot whose worker belongs to a separate process. `hosts` gets the ids of these processes. */
function hostedSlot(name, { namespace, workerOptions }, hosts, within) {
  let host;
  let worker;
  return new Slot(name, {
    worker: () => worker,
    fill: async () => {
      const [command, ...args] = [...within, process.execPath, HOST];
      host = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      hosts.add(host.pid);
      const extra = { owner: `${host.pid}/${name}` };
      try {
        const { started } = await ask(host, { start: { namespace, workerOptions: { ...workerOptions, extra } } });
        worker = { ...started, owner: host.pid };
      } catch (error) {
        host.kill("SIGKILL");
        throw error;
      }
    },
    clear: async (timeoutMs) => {
      worker = undefined;
      if (host.exitCode !== null || host.signalCode !== null) return;
      const exited = new Promise((resolve) => host.once("exit", resolve));
      await ask(host, { stop: { timeoutMs } }).catch(() => host.kill("SIGKILL"));
      await exited;
    },
  });
}

/** Gives a host an order and waits for its answer. Rejects when the host fails, or ends meanwhile. */
async function ask(host, message) {
  const settled = new AbortController();
  try {
    return await new Promise((resolve, reject) => {
      const { signal } = settled;
      const timer = setTimeout(
        () => reject(new Error(`a host did not answer to ${JSON.stringify(message)}`)),
        HOST_LIMIT_MS,
      );
      signal.addEventListener("abort", () => clearTimeout(timer));
      const answered = (answer) => (answer.failed === undefined ? resolve(answer) : reject(new Error(answer.failed)));
      const ended = () => reject(new Error("a host ended"));
      host.on("message", answered);
      host.on("exit", ended);
      host.on("error", reject);
      signal.addEventListener("abort", () => {
        host.off("message", answered);
        host.off("exit", ended);
        host.off("error", reject);
      });
      host.send(message, (error) => error && reject(error));
    });
  } finally {
    settled.abort();
  }
}

function parseAddress(address) {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
