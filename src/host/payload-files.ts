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
import { type EncodedValue, PayloadParts } from "../values/index.ts";
import { PoolDirectory } from "./pool-directory.ts";
import { uniqueName, userDirectoryName } from "./runtime-directory.ts";

/*
 * Large payloads between processes of one machine and user. A file in memory moves ten times what a socket does, if its
 * pages are there already: making them anew costs more than copying. So files are not removed: whoever has read one has
 * it, and writes the next payload into it. They circulate between caller and worker, and go with the directory that they
 * were made in.
 */

const SHARED_MEMORY = "/dev/shm";
const MOST_SPARE_FILES = 16;
const MOST_SPARE_BYTES = 64 * 1024 * 1024;

interface SpareFile {
  readonly path: string;
  readonly capacity: number;
}

let realm: string | undefined;
let directory: string | undefined;
let own: PoolDirectory | undefined;
const spare: SpareFile[] = [];

/**
 * Names the memory file system and the user that files are exchanged through: processes of the same realm can read each
 * other's. Empty where there is no such place.
 */
export function fileRealm(): string {
  realm ??= findRealm();
  return realm;
}

/** Puts payload files of this thread into a directory that someone else removes. */
export function usePayloadDirectory(path: string): void {
  directory = path;
}

/** Stores a payload in a file and returns its path, or `undefined` when there is no room for it. */
export function writePayloadFile(payload: EncodedValue): string | undefined {
  for (let file = takeSpare(payload.length); file !== undefined; file = takeSpare(payload.length)) {
    if (write(file.path, constants.O_WRONLY, payload)) return file.path;
  }
  directory ??= ownDirectory();
  const path = join(directory, uniqueName());
  if (write(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, payload)) return path;
  remove(path);
  return undefined;
}

/**
 * Takes a payload out of the file that a peer named; the file is ours then. Throws for a path outside of the place for
 * such files: a peer must not be able to have others read or written.
 */
export function takePayloadFile(path: string, length: number): Buffer {
  return usePayloadFile(path, length, (file) => {
    const buffer = Buffer.allocUnsafeSlow(length);
    file.read(buffer, 0);
    return buffer;
  });
}

/** The same for a payload of which `use` reads what it needs, where it needs it. */
export function usePayloadFile<T>(path: string, length: number, use: (file: PayloadFile) => T): T {
  checkPlace(path);
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const capacity = fstatSync(descriptor).size;
    if (length > capacity) throw new Error(`the file ${path} has ${capacity} bytes, not ${length}`);
    try {
      return use(new PayloadFile(path, descriptor, length));
    } finally {
      keep({ path, capacity });
    }
  } finally {
    closeSync(descriptor);
  }
}

/** A payload in an open file. */
export class PayloadFile {
  readonly length: number;
  readonly #path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number, length: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.length = length;
  }

  /** Fills all of `target` with the bytes from `at` on. */
  read(target: Uint8Array, at: number): void {
    for (let done = 0; done < target.length; ) {
      const count = readSync(this.#descriptor, target, done, target.length - done, at + done);
      if (count === 0) throw new Error(`the file ${this.#path} ends before byte ${at + target.length}`);
      done += count;
    }
  }
}

/** Throws unless a peer may have put a payload of this length there. Returns the path. */
export function checkPayloadFile(path: string, length: number): string {
  checkPlace(path);
  const { size } = statSync(path);
  if (length > size) throw new Error(`the file ${path} has ${size} bytes, not ${length}`);
  return path;
}

/** Takes over a file whose payload nobody wants. */
export function dropPayloadFile(path: string, length: number): void {
  checkPlace(path);
  keep({ path, capacity: length });
}

function checkPlace(path: string): void {
  const place = join(SHARED_MEMORY, userDirectoryName());
  if (dirname(dirname(path)) === place && !path.includes(`${sep}..`)) return;
  throw new Error(`the file ${path} is not one that payloads may be in`);
}

/** The smallest that is large enough, else any. */
function takeSpare(length: number): SpareFile | undefined {
  let best = -1;
  for (const [i, file] of spare.entries()) {
    if (file.capacity >= length && (best < 0 || file.capacity < (spare[best]?.capacity ?? 0))) best = i;
  }
  return spare.splice(best < 0 ? spare.length - 1 : best, 1)[0];
}

function keep(file: SpareFile): void {
  const total = spare.reduce((sum, { capacity }) => sum + capacity, file.capacity);
  if (spare.length < MOST_SPARE_FILES && total <= MOST_SPARE_BYTES) spare.push(file);
  else remove(file.path);
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
  // In general that was all of it.
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

function ownDirectory(): string {
  own ??= new PoolDirectory();
  return own.bulkDirectory();
}

function findRealm(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${statSync(SHARED_MEMORY).dev}/${userDirectoryName()}`;
  } catch {
    return "";
  }
}
