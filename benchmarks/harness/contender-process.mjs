import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./contender-main.mjs", import.meta.url));
const EXIT_GRACE_MS = 5_000;

/** A contender in its own process, so that its threads and its heap do not disturb the others. */
export class ContenderProcess {
  #child;
  #ready;
  #answer;

  constructor(pointName, contenderName) {
    this.#child = fork(MAIN, [pointName, contenderName], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#ready = this.#nextAnswer();
    this.#child.on("message", (message) => {
      if ("failure" in message) this.#answer.reject(new Error(message.failure));
      else this.#answer.resolve(message.result);
    });
    this.#child.once("exit", (code, signal) => {
      this.#answer.reject(new Error(`the process of ${contenderName} ended early (${signal ?? code})`));
    });
  }

  open() {
    return this.#ask("open");
  }

  warmUp(settings) {
    return this.#ask("warmUp", settings);
  }

  measure(settings) {
    return this.#ask("measure", settings);
  }

  measureFresh(settings) {
    return this.#ask("measureFresh", settings);
  }

  /** Closes the contender and ends its process, in any state. */
  async close() {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    const kill = setTimeout(() => child.kill("SIGKILL"), EXIT_GRACE_MS);
    await this.#ask("close").catch(() => undefined);
    this.#answer.promise.catch(() => undefined);
    if (child.connected) child.disconnect();
    await exited;
    clearTimeout(kill);
  }

  async #ask(command, settings) {
    await this.#ready;
    const answer = this.#nextAnswer();
    this.#child.send({ command, settings });
    return await answer;
  }

  #nextAnswer() {
    const answer = {};
    answer.promise = new Promise((resolve, reject) => Object.assign(answer, { resolve, reject }));
    answer.promise.catch(() => undefined);
    this.#answer = answer;
    return answer.promise;
  }
}
