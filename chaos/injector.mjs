import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { WorkerConnection } from "wool-ts";
import { now } from "./call-log.mjs";
import { groupOf } from "./faults.mjs";
import { setLink, shape, unshape } from "./network.mjs";
import { signalOwn } from "./own-processes.mjs";
import { blockThread, endThread, exhaustMemory, mix, rejectAstray, throwAstray } from "./tasks.mjs";
import { pause } from "./until.mjs";

/** How long stopping a pool may take beyond the time that it gives its calls, in milliseconds. */
const STOP_BOUND_MS = 12_000;
/** The timeout of a task that attacks its worker, in milliseconds. */
const ATTACK_LIMITS = { timeout: 6000, dispatchTimeout: 4000 };
const ATTACK_BOUND_MS = 13_000;

/** Thrown when the target of a fault does not exist. */
class Missed extends Error {}

/** Carries out a schedule. */
export class Injector {
  #groups;
  #slots;
  #log;
  #journal;
  #folder;
  #run;
  #network;
  #underWay = new Set();
  /** How often each kind of fault was made, and how often it had no target. */
  figures = {};

  constructor({ groups, log, journal, folder, run, network }) {
    this.#groups = new Map(groups.map((group) => [group.name, group]));
    this.#slots = new Map(groups.flatMap((group) => group.slots.map((slot) => [slot.name, slot])));
    this.#log = log;
    this.#journal = journal;
    this.#folder = folder;
    this.#run = run;
    this.#network = network;
  }

  /** Resolves when every fault is over and the damage is repaired. */
  async inject(schedule) {
    const start = performance.now();
    for (const fault of schedule) {
      await pause(Math.max(0, start + fault.at - performance.now()));
      const doing = this.#inject(fault).finally(() => this.#underWay.delete(doing));
      this.#underWay.add(doing);
    }
    await Promise.all(this.#underWay);
  }

  async #inject(fault) {
    const { kind, target } = fault;
    this.figures[kind] ??= { done: 0, missed: 0 };
    const start = now();
    try {
      await this.#do(fault);
      this.figures[kind].done++;
      this.#incident(target, kind, start);
    } catch (error) {
      if (!(error instanceof Missed)) throw error;
      this.figures[kind].missed++;
    }
  }

  #incident(target, kind, start) {
    this.#journal.add("incident", { group: groupOf(target), target, kind, start, end: now() });
  }

  async #do(fault) {
    const slot = this.#slots.get(fault.target);
    switch (fault.kind) {
      case "kill":
        this.#signal(slot.worker?.pid, "SIGKILL");
        await pause(fault.repairMs);
        return await this.#mend(slot, true);
      case "kill-owner":
        this.#signal(slot.worker?.owner, "SIGKILL");
        await pause(fault.repairMs);
        return await this.#mend(slot, groupOf(slot.name) === "net");
      case "freeze":
        return await this.#freeze(slot.worker?.pid, fault.ms);
      case "exit":
        return await this.#attack(slot, fault.kind, endThread, ["WorkerLost"]);
      case "exhaust":
        return await this.#attack(slot, fault.kind, exhaustMemory, ["WorkerLost"]);
      case "block":
        return await this.#attack(slot, fault.kind, blockThread.with({ timeout: fault.ms }), ["TaskTimeout"]);
      case "stray-exception":
        return await this.#attack(slot, fault.kind, throwAstray, ["ok"]);
      case "stray-rejection":
        return await this.#attack(slot, fault.kind, rejectAstray, ["ok"]);
      case "unlink":
        return removeLanes(slot.worker?.address);
      case "stop":
        return await this.#stop(slot, fault);
      case "join":
        return await this.#joinOrLeave(slot, fault);
      case "sever":
        return this.#forwarder(slot).sever();
      case "stall":
        this.#forwarder(slot).stall(fault.ms);
        return await pause(fault.ms);
      case "lag":
        return await this.#lag(this.#forwarder(slot), fault);
      case "net-cut":
        return await this.#cut(fault.ms);
      case "net-squeeze":
        return await this.#shape(["tbf", "rate", `${fault.kbit}kbit`, "burst", "4k", "latency", "300ms"], fault.ms);
      case "net-delay":
        return await this.#shape(["netem", "delay", `${fault.delayMs}ms`, `${fault.delayMs >> 1}ms`], fault.ms);
      case "net-loss":
        return await this.#shape(["netem", "loss", `${fault.percent}%`], fault.ms);
      default:
        throw new Error(`there is no code for the fault ${fault.kind}`);
    }
  }

  #signal(pid, signal) {
    if (!signalOwn(pid, signal, this.#run)) throw new Missed();
  }

  async #freeze(pid, ms) {
    this.#signal(pid, "SIGSTOP");
    await pause(ms);
    signalOwn(pid, "SIGCONT", this.#run);
  }

  /** Has a worker run a task that harms it. */
  async #attack(slot, kind, task, expected) {
    const { worker } = slot;
    if (worker?.address === undefined) throw new Missed();
    const limited = task.with(kind === "block" ? { dispatchTimeout: ATTACK_LIMITS.dispatchTimeout } : ATTACK_LIMITS);
    await this.#log.record(
      { kind: `task-${kind}`, group: groupOf(slot.name), bound: ATTACK_BOUND_MS, expected },
      (token) =>
        useConnection(worker.address, async (connection) => {
          const answer = await connection.dispatch(limited, this.#folder, token);
          return { ran: [token], wrong: answer === mix(token, 1) ? undefined : `${answer} came back` };
        }),
    );
  }

  async #stop(slot, { timeoutMs, repairMs }) {
    const group = this.#groups.get(groupOf(slot.name));
    if (group.name === "pool") {
      if (group.isChanging || slot.state !== "filled") throw new Missed();
      await this.#recordStop(group.name, timeoutMs, () => group.stop(timeoutMs));
      await pause(repairMs);
      return await group.start();
    }
    if (slot.state !== "filled") throw new Missed();
    await this.#recordStop(group.name, timeoutMs, () => slot.clear(timeoutMs));
    await pause(repairMs);
    await slot.fill();
  }

  async #joinOrLeave(slot, { timeoutMs }) {
    if (slot.state === "changing") throw new Missed();
    if (slot.state === "empty") await slot.fill();
    else await this.#recordStop(groupOf(slot.name), timeoutMs, () => slot.clear(timeoutMs));
  }

  async #recordStop(group, timeoutMs, stop) {
    await this.#log.record({ kind: "stop", group, bound: timeoutMs + STOP_BOUND_MS }, async () => {
      await stop();
    });
  }

  /** Fills the place of a lost worker. */
  async #mend(slot, again) {
    const group = this.#groups.get(groupOf(slot.name));
    if (group.name === "pool") {
      // Two may have been lost, and another call may already fill the place.
      if (!group.isDamaged) return;
      const start = now();
      await this.#recordStop(group.name, 500, () => group.replace(500));
      return this.#incident(slot.name, "replace", start);
    }
    if (slot.state !== "filled") return;
    await this.#recordStop(group.name, 0, () => slot.clear(0));
    if (again) await slot.fill();
  }

  #forwarder(slot) {
    return this.#groups.get("tcp").forwarders[Number(slot.name.split(":")[1])];
  }

  async #lag(forwarder, { ms, delayMs }) {
    forwarder.delayMs = delayMs;
    await pause(ms);
    forwarder.delayMs = 0;
  }

  /** Makes one change to the link at a time. */
  #link = "free";

  async #cut(ms) {
    await this.#changeLink(async (namespace) => {
      await setLink(namespace, "down");
      await pause(ms);
      await setLink(namespace, "up");
    });
  }

  async #shape(discipline, ms) {
    await this.#changeLink(async (namespace) => {
      await shape(namespace, discipline);
      await pause(ms);
      await unshape(namespace);
    });
  }

  async #changeLink(change) {
    if (this.#link === "changed") throw new Missed();
    this.#link = "changed";
    try {
      await change(this.#network.workerNamespace);
    } finally {
      this.#link = "free";
    }
  }
}

async function useConnection(address, use) {
  const connection = new WorkerConnection(address);
  try {
    return await use(connection);
  } finally {
    await connection[Symbol.asyncDispose]();
  }
}

/** Removes the sockets of the task threads of a worker, which are beside its own. */
function removeLanes(address) {
  if (!address?.startsWith("unix:")) throw new Missed();
  const path = address.slice("unix:".length);
  const name = `${basename(path, ".sock")}.`;
  const isLane = (file) => file.startsWith(name) && !file.endsWith(".sock");
  const lanes = existsSync(dirname(path)) ? readdirSync(dirname(path)).filter(isLane) : [];
  if (lanes.length === 0) throw new Missed();
  for (const lane of lanes) rmSync(join(dirname(path), lane), { force: true });
}
