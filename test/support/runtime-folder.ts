import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where processes of one machine exchange large payloads. */
const SHARED_MEMORY = "/dev/shm";

/** A private place for everything that programs keep on disk while they run, so that what they leave is seen. */
export interface RuntimeFolder extends Disposable {
  /** For the programs' environment. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Every file, socket and directory that is there, but for the directory that all pools share; and what these
   * processes have in shared memory, whose place is the same for all programs.
   */
  leftovers(pids?: readonly number[]): string[];
}

/** Makes such a place. */
export function makeRuntimeFolder(): RuntimeFolder {
  // Socket paths are short: the folder's own must be, too.
  const root = mkdtempSync(join(tmpdir(), "wl-"));
  const [session, temporary] = [join(root, "x"), join(root, "t")];
  mkdirSync(session, { mode: 0o700 });
  mkdirSync(temporary, { mode: 0o700 });
  return {
    env: { XDG_RUNTIME_DIR: session, TMPDIR: temporary },
    leftovers: (pids = []) => [
      ...[...entries(session), ...entries(temporary)].filter((path) => path !== "wool"),
      ...pids.flatMap(inSharedMemory),
    ],
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Directories are named after the process that made them. */
function inSharedMemory(pid: number): string[] {
  const folder = join(SHARED_MEMORY, `wool-${process.geteuid?.()}`);
  return entries(folder).filter((path) => path.startsWith(`p${pid.toString(36)}-`));
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    // It is being removed, or was never made.
    return [];
  }
}
