import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
  writevSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { type EncodedValue, PayloadParts } from "../values/index.ts";
import type { OpenPayload, PayloadStore } from "../wire/index.ts";
import { PoolDirectory } from "./pool-directory.ts";
import { checkPrivateDirectory, uniqueName, userDirectoryName } from "./runtime-directory.ts";

const SHARED_MEMORY = "/dev/shm";
const MOST_SPARE_FILES = 16;
const MOST_SPARE_BYTES = 64 * 1024 * 1024;
/** The part of the free memory that a new file may take: other programs need memory too. */
const MOST_OF_ROOM = 0.5;
/** From this size on, the free memory of the machine is checked. That takes 0.1 ms, as long as writing 0.2 MB. */
const LOOK_AT_MEMORY_BYTES = 4 * 1024 * 1024;
/** Most bytes written at once: the system writes at most 2 GB. */
const MOST_AT_ONCE = 256 * 1024 * 1024;

/** Names as `uniqueName` makes them. */
const PAYLOAD_NAME = /^[0-9a-z]{10}$/;

interface SpareFile {
  readonly path: string;
  readonly capacity: number;
}

/**
 * Passes large payloads between processes of one machine and user, in files in memory. Such a file is ten times as fast
 * as a socket, if its pages exist already: writing 1 MB to new pages took 0.86 ms, to existing ones 0.10 ms. So files
 * are not removed: the process that has read one owns it, and writes its next payload into it. Files circulate between
 * caller and worker, and are removed with the directory that they were made in. Files that are too large to be kept
 * shrink while they are read.
 */
export class PayloadFiles implements PayloadStore {
  readonly #spare: SpareFile[] = [];
  #realm: string | undefined;
  #directory: string | undefined;
  #own: PoolDirectory | undefined;

  /**
   * Names the memory file system and the user that files are exchanged through: processes of the same realm can read
   * each other's files. Empty where there is no such file system.
   */
  get realm(): string {
    this.#realm ??= findRealm();
    return this.#realm;
  }

  /** Puts new files into a directory that another owner removes. Default: a directory that this process removes. */
  useDirectory(path: string): void {
    this.#directory = path;
  }

  put(payload: EncodedValue): string | undefined {
    const { length } = payload;
    for (let file = this.#takeSpare(length); file !== undefined; file = this.#takeSpare(length)) {
      if (this.#hasRoomIn(file, length) && write(file.path, constants.O_WRONLY, payload)) return file.path;
      remove(file.path);
    }
    this.#directory ??= this.#ownDirectory();
    // Without a memory file system the directory is elsewhere, and peers do not read files there.
    if (dirname(this.#directory) !== placeOfFiles() || !hasRoom(this.#directory, payload.length)) return undefined;
    const path = join(this.#directory, uniqueName());
    if (write(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, payload)) return path;
    remove(path);
    return undefined;
  }

  check(path: string, length: number): void {
    checkPlace(path);
    const { size } = statSync(path);
    if (length > size) throw new Error(`the file ${path} has ${size} bytes, not ${length}`);
  }

  /** A process that has opened it can still read it to its end. */
  remove(path: string): void {
    remove(path);
  }

  open(path: string, length: number): OpenPayload {
    checkPlace(path);
    const descriptor = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
    try {
      const capacity = fstatSync(descriptor).size;
      if (length > capacity) throw new Error(`the file ${path} has ${capacity} bytes, not ${length}`);
      return new OpenPayloadFile(path, descriptor, length, capacity, (file) => this.#keep(file));
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  drop(path: string, length: number): void {
    checkPlace(path);
    this.#keep({ path, capacity: length });
  }

  /** The smallest spare file that is large enough, else any. */
  #takeSpare(length: number): SpareFile | undefined {
    const spare = this.#spare;
    let best = -1;
    for (const [i, file] of spare.entries()) {
      if (file.capacity >= length && (best < 0 || file.capacity < (spare[best]?.capacity ?? 0))) best = i;
    }
    return spare.splice(best < 0 ? spare.length - 1 : best, 1)[0];
  }

  #keep(file: SpareFile): void {
    const total = this.#spare.reduce((sum, { capacity }) => sum + capacity, file.capacity);
    if (this.#spare.length < MOST_SPARE_FILES && total <= MOST_SPARE_BYTES) this.#spare.push(file);
    else remove(file.path);
  }

  /** Whether the file can hold `length` bytes. */
  #hasRoomIn({ path, capacity }: SpareFile, length: number): boolean {
    return length <= capacity || hasRoom(dirname(path), length - capacity);
  }

  #ownDirectory(): string {
    this.#own ??= new PoolDirectory();
    return this.#own.bulkDirectory();
  }
}

/** The payload files of this thread. */
export const payloadFiles = new PayloadFiles();

/** A payload in an open file. */
class OpenPayloadFile implements OpenPayload {
  readonly length: number;
  readonly #path: string;
  readonly #descriptor: number;
  readonly #keep: (file: SpareFile) => void;
  readonly #capacity: number;

  constructor(path: string, descriptor: number, length: number, capacity: number, keep: (file: SpareFile) => void) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.length = length;
    this.#capacity = capacity;
    this.#keep = keep;
  }

  read(target: Uint8Array, at: number): void {
    for (let done = 0; done < target.length; ) {
      const wanted = Math.min(target.length - done, MOST_AT_ONCE);
      const count = readSync(this.#descriptor, target, done, wanted, at + done);
      if (count === 0) throw new Error(`the file ${this.#path} ends before byte ${at + target.length}`);
      done += count;
    }
  }

  shrink(end: number): void {
    if (this.#capacity > MOST_SPARE_BYTES) ftruncateSync(this.#descriptor, end);
  }

  close(taken: boolean): void {
    closeSync(this.#descriptor);
    if (taken) this.#keep({ path: this.#path, capacity: this.#capacity });
  }
}

/** The parent of the pools' directories with payload files. Only this user can enter it. */
function placeOfFiles(): string {
  return join(SHARED_MEMORY, userDirectoryName());
}

/** Throws for other files: a peer must not be able to have them read or written, such as the owner file of a directory. */
function checkPlace(path: string): void {
  const directory = dirname(path);
  if (join(placeOfFiles(), basename(directory), basename(path)) === path && PAYLOAD_NAME.test(basename(path))) return;
  throw new Error(`the file ${path} is not a payload file of this user`);
}

function write(path: string, flags: number, payload: EncodedValue): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  } catch {
    // The file or its directory does not exist any more.
    return false;
  }
  try {
    if (payload instanceof PayloadParts) writeParts(descriptor, payload.parts);
    else writeAll(descriptor, payload, 0);
    return true;
  } catch {
    return false;
  } finally {
    closeSync(descriptor);
  }
}

function writeParts(descriptor: number, parts: readonly Uint8Array[]): void {
  let rest = writevSync(descriptor, parts, 0);
  let at = 0;
  // Usually one call has written everything.
  for (const part of parts) {
    if (rest < part.length) writeAll(descriptor, part.subarray(rest), at + rest);
    rest = Math.max(0, rest - part.length);
    at += part.length;
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, Math.min(bytes.length - done, MOST_AT_ONCE), at + done);
  }
}

/** Whether a file in this directory may take `bytes` of the memory that is free now. */
function hasRoom(directory: string, bytes: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    const most = bytes < LOOK_AT_MEMORY_BYTES ? bavail * bsize : Math.min(bavail * bsize, process.availableMemory());
    return bytes <= most * MOST_OF_ROOM;
  } catch {
    // The directory does not exist.
    return false;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already removed with its directory.
  }
}

function findRealm(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // If another user owns that directory, payloads go through the socket.
    checkPrivateDirectory(placeOfFiles());
    return `${boot}/${statSync(SHARED_MEMORY).dev}/${userDirectoryName()}`;
  } catch {
    return "";
  }
}
