import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
  writevSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { type EncodedValue, PayloadParts, type PayloadSource } from "../values/index.ts";
import type { PayloadStore } from "../wire/index.ts";
import { PoolDirectory } from "./pool-directory.ts";
import { checkPrivateDirectory, uniqueName, userDirectoryName } from "./runtime-directory.ts";

const SHARED_MEMORY = "/dev/shm";
const MOST_SPARE_FILES = 16;
const MOST_SPARE_BYTES = 64 * 1024 * 1024;

interface SpareFile {
  readonly path: string;
  readonly capacity: number;
}

/**
 * Large payloads between processes of one machine and user, in files in memory. Such a file moves ten times what a socket
 * does, if its pages exist already: new pages cost more than copying. So files are not removed: whoever has read one owns
 * it, and writes the next payload into it. They circulate between caller and worker, and go with the directory that they
 * were made in.
 */
export class PayloadFiles implements PayloadStore {
  readonly #spare: SpareFile[] = [];
  #realm: string | undefined;
  #directory: string | undefined;
  #own: PoolDirectory | undefined;

  /**
   * Names the memory file system and the user that files are exchanged through: processes of the same realm can read each
   * other's. Empty where there is no such file system.
   */
  get realm(): string {
    this.#realm ??= findRealm();
    return this.#realm;
  }

  /** Puts new files into a directory that someone else removes. Default: a directory that this process removes. */
  useDirectory(path: string): void {
    this.#directory = path;
  }

  put(payload: EncodedValue): string | undefined {
    for (let file = this.#takeSpare(payload.length); file !== undefined; file = this.#takeSpare(payload.length)) {
      if (write(file.path, constants.O_WRONLY, payload)) return file.path;
    }
    this.#directory ??= this.#ownDirectory();
    // There may be no place in memory, and peers read files nowhere else.
    if (dirname(this.#directory) !== placeOfFiles()) return undefined;
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

  take<T>(path: string, length: number, read: (source: PayloadSource) => T): T {
    return this.#open(path, length, (source, capacity) => {
      try {
        return read(source);
      } finally {
        this.#keep({ path, capacity });
      }
    });
  }

  read<T>(path: string, length: number, read: (source: PayloadSource) => T): T {
    return this.#open(path, length, read);
  }

  /** Whoever reads it now reads it to its end. */
  remove(path: string): void {
    remove(path);
  }

  #open<T>(path: string, length: number, read: (source: PayloadSource, capacity: number) => T): T {
    checkPlace(path);
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const capacity = fstatSync(descriptor).size;
      if (length > capacity) throw new Error(`the file ${path} has ${capacity} bytes, not ${length}`);
      return read(new OpenPayloadFile(path, descriptor, length), capacity);
    } finally {
      closeSync(descriptor);
    }
  }

  drop(path: string, length: number): void {
    checkPlace(path);
    this.#keep({ path, capacity: length });
  }

  /** The smallest that is large enough, else any. */
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

  #ownDirectory(): string {
    this.#own ??= new PoolDirectory();
    return this.#own.bulkDirectory();
  }
}

/** The payload files of this thread. */
export const payloadFiles = new PayloadFiles();

/** A payload in an open file. */
class OpenPayloadFile implements PayloadSource {
  readonly length: number;
  readonly #path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number, length: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.length = length;
  }

  read(target: Uint8Array, at: number): void {
    for (let done = 0; done < target.length; ) {
      const count = readSync(this.#descriptor, target, done, target.length - done, at + done);
      if (count === 0) throw new Error(`the file ${this.#path} ends before byte ${at + target.length}`);
      done += count;
    }
  }
}

/** The directories of pools with payload files are in this one, which belongs to the user alone. */
function placeOfFiles(): string {
  return join(SHARED_MEMORY, userDirectoryName());
}

/** A peer must not be able to have other files read or written. */
function checkPlace(path: string): void {
  if (dirname(dirname(path)) === placeOfFiles() && !path.includes(`${sep}..`)) return;
  throw new Error(`the file ${path} is not one that payloads may be in`);
}

function write(path: string, flags: number, payload: EncodedValue): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  } catch {
    // Gone with its directory, or there is no directory.
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
  // Usually that wrote everything.
  for (const part of parts) {
    if (rest < part.length) writeAll(descriptor, part.subarray(rest), at + rest);
    rest = Math.max(0, rest - part.length);
    at += part.length;
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone with its directory.
  }
}

function findRealm(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // Where another user has taken the place, payloads go through the socket.
    checkPrivateDirectory(placeOfFiles());
    return `${boot}/${statSync(SHARED_MEMORY).dev}/${userDirectoryName()}`;
  } catch {
    return "";
  }
}
