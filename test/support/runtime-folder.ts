import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where processes of one machine exchange large payloads. */
const SHARED_MEMORY = "/dev/shm";

/** A private folder for everything that running programs keep on disk, so that leftovers are seen. */
export interface RuntimeFolder extends Disposable {
  /** For the programs' environment. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Every file, socket and directory in it, except for the directory that all pools share. Also the files of these
   * processes in shared memory, which all programs keep in the same place.
   */
  leftovers(pids?: readonly number[]): string[];
}

/** Makes such a folder. */
export function makeRuntimeFolder(): RuntimeFolder {
  // Socket paths must be short, so the path of the folder must be short too.
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
    // The folder is being removed, or was never made.
    return [];
  }
}
