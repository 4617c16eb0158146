import { existsSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkerStartError } from "../../errors.ts";
import { OWN_URL } from "../../functions/index.ts";
import type { PoolDirectory } from "../../host/index.ts";
import { THREAD_CONDITION } from "../shared/index.ts";

const INSTALLED_FILE = "process-main.cjs";
const EMBEDDED_FILE = "wool-worker.mjs";
const IN_ARCHIVE = /\.(?:zip|asar)[\\/]/;
const HOOKS = /\.pnp\./;

let own: string | undefined;

/** Starts workers with the module at `url`, which is a whole worker. */
export function useWorkerFile(url: string): void {
  own = fileURLToPath(url);
}

/**
 * The file of the installed package that a worker is started with. `undefined` where it does not exist, as in a bundle, or
 * where a process with these options for Node.js cannot read it.
 */
export function installedEntry(nodeOptions: string): string | undefined {
  if (own !== undefined) return own;
  const entry = fileBeside(INSTALLED_FILE);
  if (!existsSync(entry) || !existsSync(fileBeside("thread-main.cjs"))) return undefined;
  // Files in an archive are readable only with the hooks of a package manager.
  return IN_ARCHIVE.test(entry) && !HOOKS.test(nodeOptions) ? undefined : entry;
}

/** The options of Node.js that a worker with this file needs. */
export function entryOptions(file: string): string[] {
  return basename(file) === INSTALLED_FILE ? [THREAD_CONDITION] : [];
}

/**
 * Writes the copy of the worker that a bundled runtime carries into the pool's directory. It is removed with the
 * directory.
 * @throws WorkerStartError when the runtime carries none.
 */
export async function embeddedEntry(directory: PoolDirectory): Promise<string> {
  const file = join(directory.path, EMBEDDED_FILE);
  if (!existsSync(file)) {
    const text = await embeddedText();
    writeFileSync(file, text, { mode: 0o600 });
  }
  return file;
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
    `a worker process cannot be started: neither its file (${fileBeside(INSTALLED_FILE)}) nor the module with ` +
      "a copy of it (embedded-worker.js of wool-ts) exists. " +
      'Keep wool-ts out of the bundle (esbuild: packages: "external") and install it where the program runs.',
    { cause },
  );
}

function fileBeside(name: string): string {
  return fileURLToPath(new URL(name, OWN_URL));
}
