import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { cachedDataVersionTag } from "node:v8";
import { constants, Script } from "node:vm";
import { isMainThread, threadId } from "node:worker_threads";
import { cacheFolder } from "./compile-cache.ts";
import { type LoadScript, runScript, type ScriptBody, type ScriptSet } from "./script-loader.ts";

/**
 * How long after its start a thread keeps compiled code, in milliseconds. By then the functions of the first calls are
 * compiled.
 */
const KEEP_AFTER_MS = 250;
/** What Node.js puts around a CommonJS file. */
const BEFORE = Buffer.from("(function (exports, require, module, __filename, __dirname) {");
const AFTER = Buffer.from("\n})");
/** Bytes of a checksum, and of the length of the contents. */
const NUMBER_BYTES = 4;

/** The compiled code of a script, and the checksum of its source. */
interface Kept {
  readonly sum: number;
  readonly code: Buffer;
}
/** Name, checksum of the source, and bytes of compiled code, of each script. The compiled code follows in the same order. */
type Contents = (readonly [name: string, sum: number, bytes: number])[];

/** The loader of this thread, for modules that load more of the package. */
let loader: LoadScript | undefined;

/** Loads a CommonJS file like `keptScriptLoader`, which made the loader. */
export function loadKeptScript(file: string): unknown {
  return loader?.(file);
}

/**
 * Loads CommonJS files of the folder dist of the package, which is `folder`, and keeps their compiled code: of a file, and
 * the files that it requires, together. `name` is the kind of thread, `set` the file that has most of its scripts. Node.js
 * 20 keeps none, and a worker takes 165 ms of processor time until it is ready, 195 ms without.
 */
export function keptScriptLoader(
  folder: string,
  name: string,
  set: string | undefined,
  require: NodeJS.Require,
): LoadScript {
  const version = `${process.version}-${process.arch}-${cachedDataVersionTag().toString(36)}`;
  const stores = process.env["NODE_COMPILE_CACHE"] ?? cacheFolder(folder);
  const storeOf = (file: string): string => join(stores, `${name}-${file.replace(/\.cjs$/, "")}-${version}.bin`);
  const scripts = new KeptScripts(folder, storeOf, require);
  if (set !== undefined) scripts.useSet(set);
  loader = (file) => scripts.load(file);
  return loader;
}

/** Scripts of a folder that require each other. */
export class KeptScripts {
  readonly #folder: string;
  readonly #storeOf: (name: string) => string;
  readonly #require: NodeJS.Require;
  #set: ScriptSet = {};
  /** Those that are being loaded. */
  #group: ScriptGroup | undefined;

  /** `storeOf`: the file with the compiled code of a script and of those that it requires. */
  constructor(folder: string, storeOf: (name: string) => string, require: NodeJS.Require) {
    this.#folder = folder;
    this.#storeOf = storeOf;
    this.#require = require;
  }

  /** Takes scripts from the set in this file instead of their own files. */
  useSet(file: string): void {
    this.#set = this.load(file) as ScriptSet;
  }

  load(name: string): unknown {
    // Not `join`: it looks at each character of a path, and V8 would optimize it for that, which takes 3 MB and 2 ms.
    const path = this.#folder + sep + name;
    const loaded = this.#require.cache[path];
    if (loaded !== undefined) return loaded.exports as unknown;
    const body = this.#set[name];
    if (body !== undefined) return this.#run(body, path);
    if (this.#group !== undefined) return this.#run(this.#group.compile(name, path), path);
    const group = new ScriptGroup(this.#storeOf(name));
    this.#group = group;
    try {
      return this.#run(group.compile(name, path), path);
    } finally {
      this.#group = undefined;
      group.end();
    }
  }

  #run(body: ScriptBody, path: string): unknown {
    return runScript(body, path, this.#folder, (name) => this.load(name), this.#require);
  }
}

/** Scripts that are loaded together. Their compiled code is kept in the file `store`. */
class ScriptGroup {
  readonly #store: string;
  readonly #kept: Map<string, Kept>;
  #scripts: { readonly name: string; readonly sum: number; readonly script: Script }[] = [];
  /** If so, another thread may keep the same meanwhile. */
  readonly #wasMissing: boolean;
  #isNew = false;
  #text = Buffer.alloc(0);

  constructor(store: string) {
    this.#store = store;
    this.#wasMissing = !existsSync(store);
    this.#kept = readStore(store);
  }

  compile(name: string, path: string): ScriptBody {
    const text = this.#read(path);
    const sum = checksum(text);
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    // The build writes ASCII only. The text is made in one piece: put together from parts, V8 would copy it once more.
    const script = new Script(text.toString("latin1"), {
      filename: path,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      ...(kept?.sum === sum ? { cachedData: kept.code } : {}),
    });
    this.#scripts.push({ name, sum, script });
    if (kept?.sum !== sum || script.cachedDataRejected === true) this.#isNew = true;
    return script.runInThisContext() as ScriptBody;
  }

  /** The text of a file with what Node.js puts around it. All files are read into the same memory. */
  #read(path: string): Buffer {
    const file = openSync(path, "r");
    try {
      const { size } = fstatSync(file);
      const end = BEFORE.length + size;
      if (this.#text.length < end + AFTER.length) this.#text = Buffer.allocUnsafeSlow(end + AFTER.length);
      BEFORE.copy(this.#text);
      if (readSync(file, this.#text, BEFORE.length, size, 0) < size)
        throw new Error(`"${path}" was cut while it was read`);
      AFTER.copy(this.#text, end);
      return this.#text.subarray(0, end + AFTER.length);
    } finally {
      closeSync(file);
    }
  }

  /** All scripts are loaded. Lets go of what only loading needs. */
  end(): void {
    this.#text = Buffer.alloc(0);
    if (!this.#isNew) return this.#forget();
    setTimeout(() => this.keep(), KEEP_AFTER_MS).unref();
    // The threads of a worker that is stopped have nothing left to do before they end. The process exits.
    if (unkept.size === 0) process.once(isMainThread ? "exit" : "beforeExit", keepAll);
    unkept.add(this);
  }

  /** By now tasks may have run here. Whatever they did to this thread, this must not fail. */
  keep(): void {
    if (!unkept.delete(this)) return;
    try {
      if (!this.#wasMissing || !existsSync(this.#store)) writeStore(this.#store, this.#compiled());
    } catch {
      // Code that cannot be kept is compiled again.
    }
    this.#forget();
  }

  #forget(): void {
    this.#scripts = [];
    this.#kept.clear();
  }

  #compiled(): Buffer {
    // Scripts that another group had loaded before are loaded by this one in other threads.
    const all = [
      ...this.#scripts.map(({ name, sum, script }) => ({ name, sum, code: script.createCachedData() })),
      ...[...this.#kept].map(([name, { sum, code }]) => ({ name, sum, code })),
    ];
    const contents: Contents = all.map(({ name, sum, code }) => [name, sum, code.length]);
    const text = Buffer.from(JSON.stringify(contents));
    const content = Buffer.concat([numberBytes(text.length), text, ...all.map(({ code }) => code)]);
    return Buffer.concat([numberBytes(checksum(content)), content]);
  }
}

/** Those whose compiled code is to be kept. */
const unkept = new Set<ScriptGroup>();

function keepAll(): void {
  for (const group of unkept) group.keep();
}

/** The compiled code that is kept in a file. None if the file is missing or damaged. */
function readStore(path: string): Map<string, Kept> {
  const kept = new Map<string, Kept>();
  try {
    const bytes = readFileSync(path);
    const content = bytes.subarray(NUMBER_BYTES);
    if (checksum(content) !== bytes.readUInt32LE(0)) return kept;
    let at = NUMBER_BYTES + content.readUInt32LE(0);
    for (const [name, sum, size] of JSON.parse(content.toString("latin1", NUMBER_BYTES, at)) as Contents) {
      kept.set(name, { sum, code: content.subarray(at, at + size) });
      at += size;
    }
  } catch {
    // Nothing is kept yet, or it cannot be read.
  }
  return kept;
}

/**
 * Not `crc32`: both threads need `node:crypto` anyway, and nothing else that an idle worker needs is in `node:zlib`, which
 * takes 0.18 MB in both. Loading that takes 2.1 ms, and the checksums of both files 0.3; these take 0.7.
 */
function checksum(bytes: Uint8Array): number {
  return createHash("sha256").update(bytes).digest().readUInt32LE(0);
}

function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Writes a file that only this user can read, as a whole or not at all. */
function writeStore(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}-${threadId}`;
  try {
    writeFileSync(draft, bytes, { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch (error) {
    unlinkSync(draft);
    throw error;
  }
}
