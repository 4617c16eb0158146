import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = join(ROOT, "test/interop/python");
/** The first interpreter on a machine may not see the packages of the system. */
const INTERPRETERS = ["python3", "/usr/bin/python3"];

let interpreter: string | undefined;

/** Why Python cannot be a peer here; undefined if it can. */
export function pythonProblem(): string | undefined {
  interpreter ??= INTERPRETERS.find((candidate) => {
    try {
      execFileSync(candidate, ["-c", "import grpc, grpc_tools, google.protobuf"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  return interpreter === undefined
    ? "python3 with grpcio and grpc-tools is not installed (python3-grpcio, python3-grpc-tools)"
    : undefined;
}

/** Code that Python's standard generator makes from the protocol. */
export class PythonCode implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "wool-python-"));

  constructor() {
    const out = [`--python_out=${this.folder}`, `--grpc_python_out=${this.folder}`];
    this.run("-m", "grpc_tools.protoc", `-I${join(ROOT, "proto")}`, ...out, join(ROOT, "proto/wool/v1/worker.proto"));
  }

  /** Starts a program of `test/interop/python`. */
  start(program: string, ...args: readonly string[]): ChildProcess {
    const file = join(FOLDER, program);
    return spawn(python(), ["-B", file, this.folder, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  }

  /** Starts a worker; it ends when it is disposed of. */
  async startWorker(): Promise<PythonWorker> {
    const child = this.start("worker.py", join(FOLDER, "modules"));
    return new PythonWorker(child, await firstLine(child));
  }

  run(...args: readonly string[]): void {
    execFileSync(python(), args, { stdio: "inherit" });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A worker in Python. */
export class PythonWorker implements AsyncDisposable {
  readonly address: string;
  readonly child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(child: ChildProcess, port: string) {
    this.child = child;
    this.address = `127.0.0.1:${port}`;
    this.#ended = once(child, "close");
  }

  /** Resolves when its process has ended. */
  get ended(): Promise<unknown> {
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin?.end();
    await this.#ended;
  }
}

function python(): string {
  if (interpreter === undefined) throw new Error("call pythonProblem() first");
  return interpreter;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("it has no output");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("it ended before it was ready");
}
