import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { errorCode, messageOf } from "../../checks/index.ts";
import { WorkerStartError } from "../../errors.ts";
import type { ListenAddress } from "../../grpc/index.ts";
import { cleanUpAtExit } from "../../host/index.ts";
import { Deadline, Timer } from "../../time/index.ts";
import {
  CONTROL_FD,
  ControlLines,
  type ProcessCommand,
  type ProcessConfig,
  type ProcessCredentials,
  type ProcessReport,
  type ProcessWord,
  receiveValue,
  type ThreadStart,
} from "../shared/index.ts";
import { OutputRelay } from "./output-relay.ts";
import { entryOptions } from "./worker-entry.ts";

/** How long a process may take to end beyond the time that its tasks were given, in milliseconds. */
const STOP_GRACE_MS = 3000;
/**
 * How long to wait for output after the process has ended, in milliseconds: one of its children may keep the pipes
 * open.
 */
const LAST_OUTPUT_MS = 500;

/** How often a process is asked to respond, in milliseconds. */
const ASK_EVERY_MS = 5000;
/** How long a process may go without a response, in milliseconds. */
const SILENCE_LIMIT_MS = 30_000;

/** How a worker process is spawned. */
export interface SpawnOptions {
  readonly name: string;
  /** The file that the process runs. */
  readonly file: string;
  /** The task threads that it starts with. */
  readonly threads: ThreadStart;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How long it may take to end after its tasks were cancelled, in milliseconds. */
  readonly cancelGrace: number;
}

/** How a process ended. */
export interface ProcessEnd {
  /** In words, such as `it exited with code 1`. */
  readonly reason: string;
  /** It ended in order, because it was told to. */
  readonly orderly: boolean;
}

/** A worker's process, seen from its parent. It ends when the parent does, in whatever way. */
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
  readonly #killAt = new Deadline();
  #watchdog: ProcessWatchdog | undefined;

  constructor(options: SpawnOptions) {
    const child = spawnWorker(options);
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
    void this.#killAt.passed.then(() => this.kill());
  }

  /** A sentence with the last lines that the process wrote to stderr. */
  get lastWords(): string {
    const { tail } = this.#stderr;
    return tail === "" ? "it wrote nothing to stderr" : `its stderr ends with:\n${tail}`;
  }

  /**
   * Configures the process. Resolves with the address where it listens. Rejects with `WorkerStartError` when it does
   * not start.
   */
  async start(config: ProcessConfig, timeout: number): Promise<ListenAddress> {
    let timer: Timer | undefined;
    try {
      this.#control.write(`${JSON.stringify(config)}\n`);
      const report = await Promise.race<ProcessReport | string>([
        new Promise<ProcessReport>((resolve) => {
          this.#reported = resolve;
        }),
        this.exited.then(({ reason }) => reason),
        new Promise<string>((resolve) => {
          timer = new Timer(timeout, () => resolve(`it was not ready within the timeout of ${timeout} ms`));
        }),
      ]);
      if (typeof report === "object" && report.ready) return report.listen;
      // The process ends by itself now. Its output is complete only after that.
      if (typeof report === "object") await this.exited;
      const reason = typeof report === "string" ? report : report.error;
      const cause = typeof report === "object" ? await thrownIn(report) : undefined;
      throw new WorkerStartError(
        `a worker process did not start: ${reason}\n${this.lastWords}`,
        cause === undefined ? {} : { cause },
      );
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      timer?.clear();
    }
  }

  /**
   * Asks the process to end; resolves when it has. `timeout`: milliseconds that running tasks have, `Infinity` for no
   * limit. If called again, the shorter time counts. A process that does not end in time is killed. So is one without a
   * limit that stops responding.
   */
  async stop(timeout: number): Promise<void> {
    if (this.#end === undefined) {
      this.#tell({ stop: Number.isFinite(timeout) ? timeout : -1 });
      const limit = timeout + this.#cancelGrace + STOP_GRACE_MS;
      if (Number.isFinite(limit)) this.#killAt.shorten(limit);
      else {
        this.#watchdog ??= new ProcessWatchdog(
          () => this.#tell({ ping: 0 }),
          () => this.kill(),
        );
      }
    }
    await this.exited;
  }

  /** Has the process use other credentials for new connections. Call it after `start`. */
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
    this.#watchdog?.heard();
    if ("ready" in word) this.#reported(word);
  }

  async #ended(end: ProcessEnd): Promise<ProcessEnd> {
    this.#end = end;
    this.#killAt.clear();
    this.#watchdog?.close();
    const { stdout, stderr } = this.#child;
    const enough = setTimeout(() => {
      // Output that is already in the pipes is read first.
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

/** The error of user code that kept a process from starting, if the report has it. */
async function thrownIn(report: ProcessReport): Promise<unknown> {
  if (report.ready || report.thrown === undefined) return undefined;
  return await receiveValue(report.thrown).catch(() => undefined);
}

/** Watches a process that has no time limit: a process that stops responding is frozen. */
export class ProcessWatchdog {
  readonly #timer: NodeJS.Timeout;
  #lastSign = performance.now();

  /**
   * `ask` asks the process to respond. `silent` is called repeatedly once it has not responded for too long, until
   * `close`.
   */
  constructor(ask: () => void, silent: () => void) {
    ask();
    this.#timer = setInterval(() => {
      if (performance.now() - this.#lastSign >= SILENCE_LIMIT_MS) silent();
      else ask();
    }, ASK_EVERY_MS);
  }

  /** The process responded. */
  heard(): void {
    this.#lastSign = performance.now();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/**
 * The options of Node.js that decide which files modules are found in. With different ones a worker would run different
 * code than the program. Nothing else is passed on.
 */
export function moduleOptions(execArgv: readonly string[]): string[] {
  return execArgv.flatMap((option, at) => {
    if (/^(?:--conditions=|-C=|--preserve-symlinks$)/.test(option)) return [option];
    const value = execArgv[at + 1];
    return /^(?:--conditions|-C)$/.test(option) && value !== undefined ? [`--conditions=${value}`] : [];
  });
}

/**
 * If the program uses the compile cache of Node.js, workers use the same folder. That saves a fifth of the start-up
 * time of a worker (114 ms instead of 140 ms, Node.js 22). The environment takes precedence.
 */
function compileCache(): Record<string, string> {
  const { getCompileCacheDir } = process.getBuiltinModule("node:module") as {
    getCompileCacheDir?: () => string | undefined;
  };
  const directory = getCompileCacheDir?.();
  // Node.js returns the subfolder for its version.
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}

/** @throws WorkerStartError when this process cannot start another one */
function spawnWorker(options: SpawnOptions): ChildProcess {
  let child: ChildProcess;
  try {
    const nodeOptions = [...moduleOptions(process.execArgv), ...entryOptions(options.file), ...options.execArgv];
    child = spawn(process.execPath, [...nodeOptions, options.file, JSON.stringify(options.threads)], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: { ...compileCache(), ...process.env, ...options.env },
      // Its own process group: Ctrl-C in a terminal then reaches only the program, which decides about its workers. Not
      // on Linux: it gives each session its own share of the processor, which costs a third of the calls per second.
      // Workers on Linux ignore such signals: see terminal.ts.
      detached: process.platform !== "win32" && process.platform !== "linux",
      windowsHide: true,
    });
  } catch (error) {
    const isForbidden = errorCode(error) === "ERR_ACCESS_DENIED";
    const reason = isForbidden
      ? "the permission model of Node.js does not allow it. Start the program with --allow-child-process too"
      : messageOf(error);
    throw new WorkerStartError(`a worker process cannot be started: ${reason}`, { cause: error });
  }
  // Without free file descriptors, Node.js makes no streams and emits the error later.
  if ((child.stdio as unknown) === undefined) throw outOfFiles(child);
  return child;
}

function outOfFiles(child: ChildProcess): WorkerStartError {
  child.on("error", () => undefined);
  return new WorkerStartError(
    "a worker process cannot be started: this process has too many open files (EMFILE). Allow it more (ulimit -n), or " +
      "start fewer workers",
  );
}
