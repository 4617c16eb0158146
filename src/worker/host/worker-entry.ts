import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkerStartError } from "../../errors.ts";
import { OWN_URL } from "../../functions/index.ts";
import type { PoolDirectory } from "../../host/index.ts";

/** The files that a worker runs. */
export interface WorkerEntry {
  /** What its process is started with. */
  readonly process: string;
  /** What its task threads are started with. */
  readonly thread: string;
}

const EMBEDDED_FILE = "wool-worker.mjs";
const IN_ARCHIVE = /\.(?:zip|asar)[\\/]/;
const HOOKS = /\.pnp\./;

let own: WorkerEntry | undefined;

/** Starts workers and task threads with the module at `url`, which is a whole worker. */
export function useWorkerFile(url: string): void {
  const file = fileURLToPath(url);
  own = { process: file, thread: file };
}

/** What the task threads of this process are started with. */
export function threadEntry(): string {
  return (own ?? entryBeside(OWN_URL)).thread;
}

/**
 * The files of the installed package that a worker is started with. `undefined` where they do not exist, as in a bundle, or
 * where a process with these options for Node.js cannot read them.
 */
export function installedEntry(nodeOptions: string): WorkerEntry | undefined {
  if (own !== undefined) return own;
  const entry = entryBeside(OWN_URL);
  if (!existsSync(entry.process) || !existsSync(entry.thread)) return undefined;
  // Files in an archive are readable only with the hooks of the package manager.
  return IN_ARCHIVE.test(entry.process) && !HOOKS.test(nodeOptions) ? undefined : entry;
}

/**
 * A copy of the worker that the runtime carries along in a bundle. It is in the pool's directory, and removed with it.
 * @throws WorkerStartError when the runtime carries none.
 */
export async function embeddedEntry(directory: PoolDirectory): Promise<WorkerEntry> {
  const file = join(directory.path, EMBEDDED_FILE);
  if (!existsSync(file)) {
    const text = await embeddedText();
    writeFileSync(file, text, { mode: 0o600 });
  }
  return { process: file, thread: file };
}

async function embeddedText(): Promise<string> {
  let cause: unknown;
  try {
    const { EMBEDDED_WORKER } = await import("./embedded-worker.ts");
    if (EMBEDDED_WORKER !== "") return EMBEDDED_WORKER;
  } catch (error) {
    cause = error;
  }
  throw new WorkerStartError(
    `a worker process cannot be started: neither its file (${entryBeside(OWN_URL).process}) nor the module that ` +
      "carries a copy of it along (embedded-worker.js of wool-ts) is there. " +
      'Keep wool-ts out of the bundle (esbuild: packages: "external") and install it where the program runs.',
    { cause },
  );
}

function entryBeside(url: string): WorkerEntry {
  return {
    process: fileURLToPath(new URL("process-main.js", url)),
    thread: fileURLToPath(new URL("thread-main.js", url)),
  };
}
