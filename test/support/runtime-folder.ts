import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A private place for everything that programs keep on disk while they run, so that what they leave is seen. */
export interface RuntimeFolder extends Disposable {
  /** For the programs' environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Every file, socket and directory that is there, but for the directory that all pools share. */
  leftovers(): string[];
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
    leftovers: () => [...entries(session), ...entries(temporary)].filter((path) => path !== "wool"),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

function entries(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" });
}
