import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../checks/index.ts";
import {
  currentProcess,
  identifyProcess,
  isProcessAlive,
  isProcessIdentity,
  type ProcessIdentity,
} from "./process-identity.ts";
import { ensurePrivateDirectory, uniqueName } from "./runtime-directory.ts";

/**
 * Directories that live as long as the process that made them. The name holds the owner's pid, and a file inside holds
 * its whole identity. So any process of the same user can recognise an abandoned directory and remove it.
 */

const OWNER_FILE = "owner.json";
const NAME = /^p([0-9a-z]+)-[0-9a-z]+$/;

/** How long a directory may be without an owner file before its owner is judged by the pid alone, in milliseconds. */
const UNMARKED_GRACE = 60_000;

const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 } as const;

/** A fresh name for a directory owned by this process. */
export function ownedDirectoryName(): string {
  return `p${process.pid.toString(36)}-${uniqueName()}`;
}

/** Creates the directory at `path`, whose last part is an `ownedDirectoryName`, and marks it as owned by this process. */
export function createOwnedDirectory(path: string): string {
  ensurePrivateDirectory(path);
  try {
    writeFileSync(join(path, OWNER_FILE), JSON.stringify(currentProcess()), { mode: 0o600 });
  } catch (error) {
    removeOwnedDirectorySync(path);
    throw error;
  }
  return path;
}

/** Removes an owned directory with its content; does nothing when it does not exist. */
export async function removeOwnedDirectory(path: string): Promise<void> {
  await rm(takeAway(path), REMOVAL);
}

/** `removeOwnedDirectory` for code that cannot await. */
export function removeOwnedDirectorySync(path: string): void {
  rmSync(takeAway(path), REMOVAL);
}

/**
 * Gives a directory another name and returns that. Processes that know the old name, such as those that follow the
 * workers of a pool and create their folder when it is gone, could fill the directory as fast as it is emptied.
 */
function takeAway(path: string): string {
  const away = join(dirname(path), ownedDirectoryName());
  try {
    renameSync(path, away);
    return away;
  } catch {
    return path;
  }
}

/** Removes the owned directories in `root` whose owners are gone; other processes may do the same at the same time. */
export async function sweepOwnedDirectories(root: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(root);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  for (const name of names) {
    const path = join(root, name);
    if (!NAME.test(name) || !(await isAbandoned(path))) continue;
    try {
      await removeOwnedDirectory(path);
    } catch {
      // Lost a race with another process that removes it, or the next sweep succeeds.
    }
  }
}

/** True when the process that made the directory at `path` is gone. */
async function isAbandoned(path: string): Promise<boolean> {
  const owner = readOwner(path);
  if (owner !== undefined) return !isProcessAlive(owner);
  // Without an owner file it was just created, half removed, or its owner died in between.
  const pid = Number.parseInt(NAME.exec(basename(path))?.[1] ?? "", 36);
  if (Number.isNaN(pid) || identifyProcess(pid) !== undefined) return false;
  const modified = await stat(path).then(
    (stats) => stats.mtimeMs,
    () => Number.NaN,
  );
  return Date.now() - modified > UNMARKED_GRACE;
}

function readOwner(path: string): ProcessIdentity | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(join(path, OWNER_FILE), "utf8"));
    return isProcessIdentity(owner) ? owner : undefined;
  } catch {
    return undefined;
  }
}
