import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { WorkerStartError } from "../../errors.ts";
import type { ListenAddress } from "../../grpc/index.ts";
import { cleanUpAtExit } from "../../host/index.ts";
import {
  CONTROL_FD,
  ControlLines,
  type ProcessCommand,
  type ProcessConfig,
  type ProcessCredentials,
  type ProcessReport,
  type ProcessWord,
} from "../shared/index.ts";
import { OutputRelay } from "./output-relay.ts";
import { ProcessVigil } from "./process-vigil.ts";

/** How long a process may take to end beyond the time its tasks were given, in milliseconds. */
const STOP_GRACE_MS = 3000;
/** How long output is waited for after the end of the process, in milliseconds: a process of its own may hold on to it. */
const LAST_OUTPUT_MS = 500;

/** How a worker process is spawned. */
export interface SpawnOptions {
  readonly name: string;
  /** The file that the process runs. */
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How long it may take to end after its tasks were cancelled, in milliseconds. */
  readonly cancelGrace: number;
}

/** How a process ended. */
export interface ProcessEnd {
  /** In words, such as `it exited with code 1`. */
  readonly reason: string;
  /** It was told to end, by whomever, and did so in order. */
  readonly orderly: boolean;
}

/** A worker's process, seen from its parent. It ends when the parent does, however that ends. */
export class WorkerProcess {
  readonly pid: number | undefined;
  /** Resolves when the process has ended and its output was passed on. */
  readonly exited: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #control: Duplex;
  readonly #stdout: OutputRelay;
  readonly #stderr: OutputRelay;
  readonly #cancelGrace: number;
  readonly #cancelExitCleanup: () => void;
  #end: ProcessEnd | undefined;
  #reported: (report: ProcessReport) => void = () => undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #killer: NodeJS.Timeout | undefined;
  #vigil: ProcessVigil | undefined;

  constructor(options: SpawnOptions) {
    const child = spawn(process.execPath, [...options.execArgv, options.file], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
      // In a group of its own: what is typed at a terminal reaches the program, and that decides about its workers. Not
      // on Linux, which gives each session its share of the processor: that cost a third of the calls per second. There
      // workers leave such signals to the program: see terminal.ts.
      detached: process.platform !== "win32" && process.platform !== "linux",
      windowsHide: true,
    });
    this.#child = child;
    this.#cancelGrace = options.cancelGrace;
    this.pid = child.pid;
    this.#control = child.stdio[CONTROL_FD] as Duplex;
    this.#control.on("error", () => undefined);
    const lines = new ControlLines((line) => this.#hear(line as ProcessWord));
    this.#control.setEncoding("utf8");
    this.#control.on("data", (chunk: string) => lines.add(chunk));
    this.#stdout = new OutputRelay(child.stdout as Readable, process.stdout, options.name);
    this.#stderr = new OutputRelay(child.stderr as Readable, process.stderr, options.name);
    this.#cancelExitCleanup = cleanUpAtExit(() => this.kill());
    const ended = new Promise<ProcessEnd>((resolve) => {
      child.on("error", (error) => resolve({ reason: error.message, orderly: false }));
      child.on("exit", (code, signal) => {
        const reason = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
        resolve({ reason, orderly: code === 0 });
      });
    });
    this.exited = ended.then((end) => this.#ended(end));
  }

  /** How the process ended, or `undefined` while it runs. */
  get ending(): ProcessEnd | undefined {
    return this.#end;
  }

  /** The last lines that it wrote to stderr, put in words. */
  get lastWords(): string {
    const { tail } = this.#stderr;
    return tail === "" ? "it wrote nothing to stderr" : `its stderr ends with:\n${tail}`;
  }

  /** Configures the process; resolves with where it listens. Rejects with `WorkerStartError` when it does not start. */
  async start(config: ProcessConfig, timeout: number): Promise<ListenAddress> {
    let timer: NodeJS.Timeout | undefined;
    try {
      this.#control.write(`${JSON.stringify(config)}\n`);
      const waits: Promise<ProcessReport | string>[] = [
        new Promise((resolve) => {
          this.#reported = resolve;
        }),
        this.exited.then(({ reason }) => reason),
      ];
      if (Number.isFinite(timeout)) {
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
      const reason = typeof report === "string" ? report : report.error;
      throw new WorkerStartError(`a worker process did not start: ${reason}\n${this.lastWords}`);
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Asks the process to end; resolves when it has. `timeout`: milliseconds that running tasks have, `Infinity` for all
   * they need; asked again, the shorter time counts. One that does not end is killed, and so is one that has all the time
   * it needs but gives no sign of life.
   */
  async stop(timeout: number): Promise<void> {
    if (this.#end === undefined) {
      this.#tell({ stop: Number.isFinite(timeout) ? timeout : -1 });
      if (Number.isFinite(timeout)) this.#killIn(timeout + this.#cancelGrace + STOP_GRACE_MS);
      else
        this.#vigil ??= new ProcessVigil(
          () => this.#tell({ ping: 0 }),
          () => this.kill(),
        );
    }
    await this.exited;
  }

  /** Has the process use other credentials for new connections. To be called after `start`. */
  useCredentials(credentials: ProcessCredentials): void {
    if (this.#end === undefined) this.#tell({ credentials });
  }

  /** An idle worker does not keep the program alive. */
  unref(): void {
    this.#child.unref();
    for (const stream of [this.#control, this.#child.stdout, this.#child.stderr]) {
      if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref();
    }
  }

  /** Ends the process at once. */
  kill(): void {
    if (this.#end === undefined) this.#child.kill("SIGKILL");
  }

  #tell(command: ProcessCommand): void {
    this.#control.write(`${JSON.stringify(command)}\n`);
  }

  #hear(word: ProcessWord): void {
    this.#vigil?.heard();
    if ("ready" in word) this.#reported(word);
  }

  #killIn(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#killAt) return;
    this.#killAt = at;
    clearTimeout(this.#killer);
    this.#killer = setTimeout(() => this.kill(), ms);
  }

  async #ended(end: ProcessEnd): Promise<ProcessEnd> {
    this.#end = end;
    clearTimeout(this.#killer);
    this.#vigil?.close();
    const { stdout, stderr } = this.#child;
    const enough = setTimeout(() => {
      // What is in the pipes already is read first.
      setImmediate(() => {
        stdout?.destroy();
        stderr?.destroy();
      });
    }, LAST_OUTPUT_MS);
    await Promise.all([this.#stdout.ended, this.#stderr.ended]);
    clearTimeout(enough);
    this.#cancelExitCleanup();
    this.#control.destroy();
    return end;
  }
}
