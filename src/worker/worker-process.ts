import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { WorkerStartError } from "../errors.ts";
import type { ListenAddress } from "../grpc/index.ts";
import { cleanUpAtExit } from "../security/index.ts";
import { OutputRelay } from "./output-relay.ts";
import { CONTROL_FD, type ProcessConfig, type ProcessReport } from "./process-config.ts";

/** How a worker process is spawned. */
export interface SpawnOptions {
  readonly name: string;
  /** The file that the process runs. */
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A worker's process, seen from its parent. It ends when the parent does, however that ends. */
export class WorkerProcess {
  readonly pid: number | undefined;
  /** Resolves when the process has ended and its output was passed on. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #control: Duplex;
  readonly #stdout: OutputRelay;
  readonly #stderr: OutputRelay;
  readonly #cancelExitCleanup: () => void;
  #ended: string | undefined;

  constructor(options: SpawnOptions) {
    const child = spawn(process.execPath, [...options.execArgv, options.file], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
      windowsHide: true,
    });
    this.#child = child;
    this.pid = child.pid;
    this.#control = child.stdio[CONTROL_FD] as Duplex;
    this.#control.on("error", () => undefined);
    this.#stdout = new OutputRelay(child.stdout as Readable, process.stdout, options.name);
    this.#stderr = new OutputRelay(child.stderr as Readable, process.stderr, options.name);
    this.#cancelExitCleanup = cleanUpAtExit(() => this.kill());
    const ended = new Promise<void>((resolve) => {
      child.on("error", (error) => {
        this.#ended ??= error.message;
        resolve();
      });
      child.on("exit", (code, signal) => {
        this.#ended ??= signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
        resolve();
      });
    });
    this.exited = ended
      .then(() => Promise.all([this.#stdout.ended, this.#stderr.ended]))
      .then(() => {
        this.#cancelExitCleanup();
        this.#control.destroy();
      });
  }

  /** How the process ended, or `undefined` while it runs. */
  get ending(): string | undefined {
    return this.#ended;
  }

  /** Configures the process; resolves with where it listens. Rejects with `WorkerStartError` when it does not start. */
  async start(config: ProcessConfig, timeout: number | undefined): Promise<ListenAddress> {
    let timer: NodeJS.Timeout | undefined;
    try {
      this.#control.write(`${JSON.stringify(config)}\n`);
      const waits: Promise<ProcessReport | string>[] = [
        this.#report(),
        this.exited.then(() => this.#ended ?? "it ended"),
      ];
      if (timeout !== undefined && Number.isFinite(timeout)) {
        waits.push(
          new Promise((resolve) => {
            timer = setTimeout(() => resolve(`it was not ready within ${timeout} ms`), timeout);
          }),
        );
      }
      const report = await Promise.race(waits);
      if (typeof report === "object" && report.ready) return report.listen;
      // It ends by itself then, and what it wrote is complete only with its end.
      if (typeof report === "object") await this.exited;
      throw this.#startError(typeof report === "string" ? report : report.error);
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** An idle worker does not keep the program alive. */
  unref(): void {
    this.#child.unref();
    for (const stream of [this.#control, this.#child.stdout, this.#child.stderr]) {
      if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref();
    }
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#ended === undefined) this.#child.kill(signal);
  }

  /** Ends the process at once. */
  kill(): void {
    this.signal("SIGKILL");
  }

  #report(): Promise<ProcessReport> {
    return new Promise((resolve) => {
      let text = "";
      this.#control.setEncoding("utf8");
      this.#control.on("data", (chunk: string) => {
        text += chunk;
        const end = text.indexOf("\n");
        if (end >= 0) resolve(JSON.parse(text.slice(0, end)) as ProcessReport);
      });
    });
  }

  #startError(reason: string): WorkerStartError {
    const { tail } = this.#stderr;
    const output = tail === "" ? "it wrote nothing to stderr" : `its stderr ends with:\n${tail}`;
    return new WorkerStartError(`a worker process did not start: ${reason}\n${output}`);
  }
}
