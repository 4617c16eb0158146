import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { constants, Script } from "node:vm";
import { threadId } from "node:worker_threads";
import { cacheFolder } from "./compile-cache.ts";
import type { LoadScript } from "./script-loader.ts";

/**
 * How long after its start a thread keeps compiled code, in milliseconds. By then the functions of the first calls are
 * compiled.
 */
const KEEP_AFTER_MS = 250;
/** What Node.js puts around a CommonJS file. */
const BEFORE = Buffer.from("(function (exports, require, module, __filename, __dirname) {");
const AFTER = Buffer.from("\n})");
const HASH = "sha256";
const HASH_BYTES = 32;

type Body = (exports: unknown, require: LoadScript, module: unknown, filename: string, dirname: string) => void;
/** Name, hash of the source, and bytes of compiled code, of each script. The compiled code follows in the same order. */
type Contents = (readonly [name: string, hash: string, bytes: number])[];

/**
 * Loads CommonJS files of the folder dist of the package, whose file `url` is, and keeps their compiled code: those of one
 * kind of thread, `name`, in one file. Node.js 20 keeps none, and a worker takes 165 ms of processor time until it is ready,
 * 195 ms without.
 */
export function keptScriptLoader(url: string, name: string, require: NodeJS.Require): LoadScript {
  const folder = dirname(fileURLToPath(url));
  const version = `${process.version}-${process.arch}-${cachedDataVersionTag().toString(36)}`;
  const store = join(process.env["NODE_COMPILE_CACHE"] ?? cacheFolder(url), `${name}-${version}.bin`);
  const scripts = new KeptScripts(folder, store, require);
  return (file) => scripts.load(file);
}

/** Scripts of a folder that require each other, with compiled code kept in the file `store`. */
export class KeptScripts {
  readonly #folder: string;
  readonly #store: string;
  readonly #require: NodeJS.Require;
  readonly #kept: Map<string, { readonly hash: string; readonly code: Buffer }>;
  readonly #scripts: { readonly name: string; readonly hash: string; readonly script: Script }[] = [];
  /** If so, another thread may keep the same meanwhile. */
  readonly #wasMissing: boolean;
  #isKeeping = false;

  constructor(folder: string, store: string, require: NodeJS.Require) {
    this.#folder = folder;
    this.#store = store;
    this.#require = require;
    this.#wasMissing = !existsSync(store);
    this.#kept = readStore(store);
  }

  load(name: string): unknown {
    const path = join(this.#folder, name);
    const loaded = this.#require.cache[path];
    if (loaded !== undefined) return loaded.exports;
    const module = new Module(path);
    module.filename = path;
    this.#require.cache[path] = module;
    const require: LoadScript = (specifier) =>
      specifier.startsWith("./") ? this.load(specifier.slice(2)) : this.#require(specifier);
    try {
      this.#compile(name, path)(module.exports, require, module, path, this.#folder);
      module.loaded = true;
    } finally {
      if (!module.loaded) delete this.#require.cache[path];
    }
    return module.exports;
  }

  #compile(name: string, path: string): Body {
    const bytes = readFileSync(path);
    const hash = createHash(HASH).update(bytes).digest("hex");
    const kept = this.#kept.get(name);
    // Lets go of the memory when the last one is used.
    this.#kept.delete(name);
    // The build writes ASCII only. The text is made in one piece: put together from parts, V8 would copy it once more.
    const script = new Script(Buffer.concat([BEFORE, bytes, AFTER]).toString("latin1"), {
      filename: path,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      ...(kept?.hash === hash ? { cachedData: kept.code } : {}),
    });
    this.#scripts.push({ name, hash, script });
    if (kept?.hash !== hash || script.cachedDataRejected === true) this.#keepLater();
    return script.runInThisContext() as Body;
  }

  #keepLater(): void {
    if (this.#isKeeping) return;
    this.#isKeeping = true;
    setTimeout(() => this.#keep(), KEEP_AFTER_MS).unref();
  }

  /** By now tasks run here. Whatever they did to this thread, this must not fail. */
  #keep(): void {
    try {
      if (!this.#wasMissing || !existsSync(this.#store)) writeStore(this.#store, this.#compiled());
    } catch {
      // Code that cannot be kept is compiled again.
    }
  }

  #compiled(): Buffer {
    const codes = this.#scripts.map(({ script }) => script.createCachedData());
    const contents: Contents = this.#scripts.map(({ name, hash }, at) => [name, hash, codes[at]?.length ?? 0]);
    const text = Buffer.from(JSON.stringify(contents));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    const content = Buffer.concat([length, text, ...codes]);
    return Buffer.concat([createHash(HASH).update(content).digest(), content]);
  }
}

/** The compiled code that is kept in a file. None if the file is missing or damaged. */
function readStore(path: string): Map<string, { hash: string; code: Buffer }> {
  const kept = new Map<string, { hash: string; code: Buffer }>();
  try {
    const bytes = readFileSync(path);
    const content = bytes.subarray(HASH_BYTES);
    if (!createHash(HASH).update(content).digest().equals(bytes.subarray(0, HASH_BYTES))) return kept;
    let at = 4 + content.readUInt32LE(0);
    for (const [name, hash, size] of JSON.parse(content.toString("latin1", 4, at)) as Contents) {
      kept.set(name, { hash, code: content.subarray(at, at + size) });
      at += size;
    }
  } catch {
    // Nothing is kept yet, or it cannot be read.
  }
  return kept;
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
