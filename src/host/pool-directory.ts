import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MAX_SOCKET_PATH_BYTES } from "../checks/index.ts";
import { InvalidArgument, WoolError } from "../errors.ts";
import { cleanUpAtExit } from "./exit-cleanup.ts";
import {
  createOwnedDirectory,
  ownedDirectoryName,
  removeOwnedDirectory,
  removeOwnedDirectorySync,
  sweepOwnedDirectories,
} from "./owned-directory.ts";
import {
  ensurePrivateDirectory,
  makePrivateDirectory,
  runtimeDirectory,
  userDirectoryName,
} from "./runtime-directory.ts";

/** Where pools keep files that should stay in memory. */
export interface PoolDirectoryOptions {
  /** A directory on a memory file system, shared by all users; default `/dev/shm`. Ignored when it cannot be used. */
  readonly sharedMemory?: string;
}

const SHARED_MEMORY = "/dev/shm";

/** The private directory of one pool: its sockets, its discovery entries and its bulk-transfer files. */
export class PoolDirectory implements AsyncDisposable {
  /** Absolute path of the directory. */
  readonly path: string;
  readonly #sharedMemory: string;
  readonly #cancelExitCleanup: () => void;
  #state: "open" | "disposed" = "open";
  #bulkDirectory: string | undefined;

  /** Creates the directory. `dispose()` or the end of this process removes it. */
  constructor(options: PoolDirectoryOptions = {}) {
    this.#sharedMemory = options.sharedMemory ?? SHARED_MEMORY;
    this.path = createOwnedDirectory(makePrivateDirectory(ownedDirectoryName()));
    this.#cancelExitCleanup = cleanUpAtExit(() => this.disposeSync());
  }

  /**
   * Creates the directory again if something removed it, such as a cleaner of temporary files. Its content is lost.
   * @throws WoolError when that fails
   */
  restore(): void {
    if (this.#state === "disposed") return;
    const lost = this.#paths().filter((path) => !existsSync(path));
    for (const path of lost) {
      ensurePrivateDirectory(dirname(path));
      createOwnedDirectory(path);
    }
    if (this.#bulkDirectory !== undefined && !existsSync(this.#bulkDirectory)) makeBulkFolder(this.path);
  }

  /**
   * The path of the socket called `name`.
   * @throws InvalidArgument when the path is longer than the system allows.
   */
  socketPath(name: string): string {
    return bindablePath(join(this.path, `${name}.sock`));
  }

  /**
   * The directory for bulk-transfer files, created at the first call: in memory where the system has a place for
   * that, else inside the pool's directory.
   * @throws WoolError when the directory was disposed of.
   */
  bulkDirectory(): string {
    if (this.#state === "disposed") throw new WoolError(`the pool directory ${this.path} was disposed of`);
    this.#bulkDirectory ??= createInMemory(this.#sharedMemory, basename(this.path)) ?? makeBulkFolder(this.path);
    return this.#bulkDirectory;
  }

  /** Removes the directory with its content, and the bulk-transfer files. Idempotent. */
  async dispose(): Promise<void> {
    this.#close();
    await Promise.all(this.#paths().map(removeOwnedDirectory));
  }

  /** `dispose()` for code that cannot await. */
  disposeSync(): void {
    this.#close();
    this.#paths().forEach(removeOwnedDirectorySync);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  /** Removes the files of this user's pools whose processes are gone. */
  static async sweepStale(options: PoolDirectoryOptions = {}): Promise<void> {
    await sweepOwnedDirectories(runtimeDirectory());
    await sweepOwnedDirectories(bulkRoot(options.sharedMemory ?? SHARED_MEMORY));
  }

  /**
   * Removes the pool directory at `path`, and its bulk-transfer files: for a worker whose pool vanished. The pool's
   * process may still run, if the pool was in one of its threads. Never rejects: other workers may do the same at the
   * same time.
   */
  static async removeOrphaned(path: string, options: PoolDirectoryOptions = {}): Promise<void> {
    const bulk = join(bulkRoot(options.sharedMemory ?? SHARED_MEMORY), basename(path));
    await Promise.allSettled([path, bulk].map(removeOwnedDirectory));
  }

  #close(): void {
    this.#state = "disposed";
    this.#cancelExitCleanup();
  }

  #paths(): string[] {
    const bulk = this.#bulkDirectory;
    return bulk === undefined || dirname(bulk) === this.path ? [this.path] : [this.path, bulk];
  }
}

function makeBulkFolder(path: string): string {
  return ensurePrivateDirectory(join(path, "bulk"));
}

function bulkRoot(sharedMemory: string): string {
  return join(sharedMemory, userDirectoryName());
}

function createInMemory(sharedMemory: string, name: string): string | undefined {
  try {
    return createOwnedDirectory(join(ensurePrivateDirectory(bulkRoot(sharedMemory)), name));
  } catch {
    // The directory does not exist, is not writable, or another user took our name there: ordinary files will do.
    return undefined;
  }
}

/**
 * Returns `path` if a unix socket can be bound there.
 *
 * @throws InvalidArgument when it is longer than the system allows
 */
export function bindablePath(path: string): string {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return path;
  throw new InvalidArgument(
    `the socket path ${path} has ${bytes} bytes and this system allows ${MAX_SOCKET_PATH_BYTES}: ` +
      "set XDG_RUNTIME_DIR to a shorter directory that only you can enter (mode 0700)",
  );
}
