/** The worker under attack and the caller that must not notice, in separate processes. */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { LocalWorker } from "wool-ts";

/** Starts a worker, and a caller of it that measures how long its calls take. */
export async function startVictim(options = {}) {
  const worker = new LocalWorker(options);
  await worker.start();
  return new Victim(worker);
}

class Victim {
  #innocent;
  #samples;
  #peak = 0;

  constructor(worker) {
    this.worker = worker;
    this.baseline = this.memory();
    this.#samples = setInterval(() => this.memory(), 20);
  }

  get path() {
    return this.worker.metadata.address.slice("unix:".length);
  }

  get pid() {
    return this.worker.metadata.pid;
  }

  /** Resident memory of the worker now, in megabytes. */
  memory() {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const now = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    this.#peak = Math.max(this.#peak, now);
    return now;
  }

  /** The maximum since the last call. */
  takePeak() {
    this.memory();
    const peak = this.#peak;
    this.#peak = 0;
    return peak;
  }

  /** A socket to the worker. Its errors are ignored. */
  async connect() {
    const socket = connect(this.path);
    socket.on("error", () => undefined);
    await new Promise((resolve) => {
      socket.once("connect", resolve);
      socket.once("close", resolve);
    });
    return socket;
  }

  /** Starts another process that calls the worker all the time. */
  async watch() {
    this.#innocent = fork(new URL("innocent.mjs", import.meta.url), [this.worker.metadata.address]);
    await new Promise((resolve) => this.#innocent.once("message", resolve));
  }

  /** The duration of the slowest call of the innocent caller since the last question, in milliseconds, and what failed. */
  async latency() {
    const answer = new Promise((resolve) => this.#innocent.once("message", resolve));
    this.#innocent.send("tell");
    return await answer;
  }

  async stop() {
    clearInterval(this.#samples);
    if (this.#innocent !== undefined) {
      const gone = new Promise((resolve) => this.#innocent.once("exit", resolve));
      this.#innocent.kill();
      await gone;
    }
    await this.worker.stop();
  }
}
