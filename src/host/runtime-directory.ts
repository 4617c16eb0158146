import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, lstatSync, mkdirSync, type Stats, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { errorCode, MAX_SOCKET_PATH_BYTES } from "../checks/index.ts";
import { InvalidArgument, WoolError } from "../errors.ts";

const ACCESS_FOR_OTHERS = 0o077;
const WRITE_FOR_OTHERS = 0o022;
const STICKY = 0o1000;

/** Other processes may remove an empty directory while this one is about to use it. */
const CREATION_ATTEMPTS = 100;

/** The longest path of a socket inside the runtime directory: that of a worker, in the directory of a pool. */
const LONGEST_SOCKET_NAME = "/p123456-abcdefghij/w-0123456789ab.sock";

const REMEDY = "Set XDG_RUNTIME_DIR to a directory that you own and nobody else can enter (mode 0700).";

let resolved: { readonly key: string; readonly path: string } | undefined;

/**
 * The directory of this user for sockets and similar files. No other user can enter it. It is `$XDG_RUNTIME_DIR/wool`
 * where `XDG_RUNTIME_DIR` is private to the user, else `wool-<uid>` in the system's temporary directory, else
 * `.cache/wool` in the home directory: another user may have taken the name in the temporary directory, or may own the
 * temporary directory. A place that is not writable, or whose path is too long for sockets, is skipped. Created when
 * missing, once per process.
 * @throws WoolError when none of them is private and can be used.
 */
export function runtimeDirectory(): string {
  const sessionDirectory = process.env["XDG_RUNTIME_DIR"] ?? "";
  const key = [sessionDirectory, tmpdir(), homedir()].join("\n");
  if (resolved?.key !== key) {
    const session = isPrivateDirectory(sessionDirectory) ? [join(sessionDirectory, "wool")] : [];
    resolved = { key, path: findRuntimeRoot([...session, join(tmpdir(), userDirectoryName())]) };
  }
  return resolved.path;
}

/**
 * A private directory called `name` inside the runtime directory, created when missing.
 * @throws InvalidArgument when `name` is not a plain file name; WoolError when the directory is not private.
 */
export function makePrivateDirectory(name: string): string {
  if (!/^[\w.-]+$/.test(name) || /^\.+$/.test(name)) {
    throw new InvalidArgument(
      `${JSON.stringify(name)} cannot name a private directory: use only letters, digits, ".", "_" and "-"`,
    );
  }
  const root = runtimeDirectory();
  try {
    return ensurePrivateDirectory(join(root, name));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    // A cleaner of temporary directories has removed the root since its first use.
    ensureRuntimeRoot(root);
    return ensurePrivateDirectory(join(root, name));
  }
}

/**
 * Creates `path` with mode 0700 unless it exists, and makes sure that only this user can get in or replace it.
 * @throws WoolError when it is a symbolic link, belongs to another user, or is open to others; what `mkdir` throws otherwise.
 */
export function ensurePrivateDirectory(path: string): string {
  for (let attempt = 1; attempt <= CREATION_ATTEMPTS; attempt++) {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    if (checkPrivateDirectory(path)) return path;
  }
  throw new WoolError(`${path} cannot be used: another program removes it each time it is created`);
}

/**
 * Makes sure that only this user can get into the directory at `path` or replace it; false when it does not exist.
 * @throws WoolError when it is a symbolic link, belongs to another user, or is open to others.
 */
export function checkPrivateDirectory(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  const problem = directoryProblem(stats) ?? parentProblem(dirname(path));
  if (problem === undefined) return true;
  throw new WoolError(`refusing to use ${path}: ${problem}, so another user could run code as you. ${REMEDY}`);
}

/** `wool-<uid>`; just `wool` on platforms without user ids, whose temporary directory is the user's own. */
export function userDirectoryName(): string {
  const uid = ownUid();
  return uid === undefined ? "wool" : `wool-${uid}`;
}

/** A name of ten lower-case letters and digits that is not used twice, short enough for socket paths. */
export function uniqueName(): string {
  return randomBytes(8).readBigUInt64BE().toString(36).padStart(13, "0").slice(-10);
}

/** The first of these places that can be used, or one in the home directory. */
function findRuntimeRoot(paths: readonly string[]): string {
  let first: unknown;
  for (const path of [...paths, homeDirectory()]) {
    try {
      return ensureRuntimeRoot(path);
    } catch (error) {
      // Report the first place: the user can change that one.
      first ??= error;
    }
  }
  throw first;
}

function homeDirectory(): string {
  const cache = join(homedir(), ".cache");
  try {
    if (!existsSync(cache)) mkdirSync(cache, { mode: 0o700 });
  } catch {
    // Creating a directory in it reports the problem.
  }
  return join(cache, "wool");
}

function ensureRuntimeRoot(path: string): string {
  const bytes = Buffer.byteLength(path + LONGEST_SOCKET_NAME);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw new WoolError(
      `${path} cannot be used: its path is too long for sockets, whose paths would have ${bytes} bytes where the system ` +
        `allows ${MAX_SOCKET_PATH_BYTES}. ${REMEDY.replace("a directory", "a directory with a shorter path")}`,
    );
  }
  try {
    ensurePrivateDirectory(path);
    accessSync(path, constants.W_OK);
    return path;
  } catch (error) {
    if (error instanceof WoolError) throw error;
    const fix = errorCode(error) === "ERR_ACCESS_DENIED" ? allowing(path) : REMEDY;
    throw new WoolError(`the runtime directory ${path} cannot be ${failedUse(error)}. ${fix}`, { cause: error });
  }
}

function failedUse(error: unknown): string {
  const code = errorCode(error);
  if (code === "ERR_ACCESS_DENIED") return "created: the permission model of Node.js does not allow it";
  return code === "EROFS" ? "written to: its file system is read-only" : `created (${code})`;
}

function allowing(path: string): string {
  return `Start the program with --allow-fs-read=${path} and --allow-fs-write=${path}, too.`;
}

function isPrivateDirectory(path: string): boolean {
  const stats = isAbsolute(path) ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  return stats !== undefined && directoryProblem(stats) === undefined;
}

function directoryProblem(stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return "it is a symbolic link";
  if (!stats.isDirectory()) return "it is not a directory";
  const uid = ownUid();
  if (uid === undefined) return undefined;
  if (stats.uid !== uid) return `it belongs to user ${stats.uid} and not to you (user ${uid})`;
  if ((stats.mode & ACCESS_FOR_OTHERS) !== 0) {
    return `its mode ${(stats.mode & 0o7777).toString(8).padStart(4, "0")} lets other users in`;
  }
  return undefined;
}

/** A user who can rename entries of the parent could replace our directory. */
function parentProblem(parent: string): string | undefined {
  const stats = statSync(parent, { throwIfNoEntry: false });
  const uid = ownUid();
  if (stats === undefined || uid === undefined) return undefined;
  // With the sticky bit, only the owner of the parent can replace the entries of other users.
  if (stats.uid !== uid && stats.uid !== 0) return `${parent} around it belongs to user ${stats.uid}`;
  if ((stats.mode & WRITE_FOR_OTHERS) === 0 || (stats.mode & STICKY) !== 0) return undefined;
  return `${parent} around it is writable for other users without the sticky bit`;
}

function ownUid(): number | undefined {
  return process.geteuid?.();
}
