import { existsSync, readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { messageOf } from "../../checks/index.ts";
import { scriptFrom } from "../engine/index.ts";
import {
  fromRootRelative,
  importFrom,
  importResolve,
  indexExports,
  isAsLoaded,
  noteLoaded,
  pathOf,
  prepareForTypeScript,
  projectRoot,
  urlInRoot,
} from "../modules/index.ts";
import {
  BoundedMap,
  type CodeData,
  contentHash,
  type Dependency,
  exportName,
  hashOfFiles,
  isRecord,
  isStringList,
  isUserModule,
  OWN_URL,
  type PlainData,
  registerRuntimeExports,
  toCodeData,
  withoutAsync,
} from "../shipment/index.ts";
import { type CodeFactory, compileCode } from "./compile-code.ts";

/** Thrown when a module that code refers to cannot be loaded here, or is not the same one. */
export class ModuleUnavailable extends Error {
  override readonly name = "ModuleUnavailable";
  /** Names the missing module, or the missing export of a package, to the sender, which sends code instead. */
  readonly missing: string;

  constructor(
    message: string,
    { hash, data }: Dependency,
    options?: ErrorOptions & { readonly path?: readonly string[] },
  ) {
    super(message, options);
    const path = isUserModule(data) ? undefined : options?.path;
    this.missing = path === undefined ? hash : exportName(hash, path);
  }
}

// It is the cause of errors that travel.
registerRuntimeExports("wool-ts/functions", { ModuleUnavailable });

interface StoredCode {
  readonly dependency: Dependency;
  readonly data: CodeData;
  /** Its size in characters. */
  readonly size: number;
  factory: CodeFactory | undefined;
  /** Makes functions without promises, if the code is prompt. */
  promptFactory?: CodeFactory;
}

/** A requested module: its namespace, or its exports as CommonJS, or why it is not available. */
export type StoredModule = { readonly dependency: Dependency; readonly size: number } & (
  | { readonly state: "loaded"; readonly namespace: object }
  | { readonly state: "unknown" }
);

/** Limits the text: peers decide how much there is. */
const MAX_CHARACTERS = { most: 64_000_000, weigh: ({ size }: { readonly size: number }): number => size };
const codes = new BoundedMap<string, StoredCode>(8192, MAX_CHARACTERS);
const modules = new BoundedMap<string, StoredModule>(10_000, MAX_CHARACTERS);
const loading = new Map<string, Promise<void>>();

/** True when this process has the dependency with that hash, so that it need not be sent again. */
export function hasDependency(hash: string): boolean {
  return codes.has(hash) || modules.get(hash)?.state === "loaded";
}

/** The accepted dependency with that hash, so that it can be passed on. */
export function findDependency(hash: string): Dependency | undefined {
  return codes.get(hash)?.dependency ?? modules.get(hash)?.dependency;
}

/**
 * Accepts a dependency of a function. Keeps the text of code: the 8192 pieces used last, of at most 64 million
 * characters together. Loads a module unless it is loaded already; the result is then a promise. With `importing:
 * false` a peer cannot make this process load anything: a module counts only if this process has loaded it for itself.
 * Rejects with `ModuleUnavailable` when a module cannot be loaded or its content is not the same.
 */
export function acceptDependency(dependency: Dependency, options: { importing?: boolean } = {}): void | Promise<void> {
  const { hash, data } = dependency;
  if (!isRecord(data)) throw new TypeError("a dependency is malformed");
  if (data["kind"] === "code") {
    if (!codes.has(hash)) {
      codes.set(hash, { dependency, data: toCodeData(data), size: sizeOf(dependency), factory: undefined });
    }
    return undefined;
  }
  if (data["kind"] !== "module") throw new TypeError("a dependency is of an unknown kind");
  if (modules.get(hash)?.state === "loaded") return undefined;
  const existing = loading.get(hash);
  if (existing !== undefined) return existing;
  const started = (options.importing === false ? recognise(dependency) : loadAsNamed(dependency)).finally(() =>
    loading.delete(hash),
  );
  loading.set(hash, started);
  return started;
}

/** The characters of a dependency as it travels. */
function sizeOf({ data }: Dependency): number {
  return JSON.stringify(data).length;
}

/** The code of that hash, compiled. Throws when it was not accepted before, or is no longer kept. */
export function codeFactory(hash: string): { factory: CodeFactory; dependency: Dependency; data: CodeData } {
  const code = codes.use(hash);
  if (code === undefined) throw new Error(`the code ${hash} is not here: it must be sent again`);
  code.factory ??= compileCode(code.data, localUrl(code.data));
  return { factory: code.factory, dependency: code.dependency, data: code.data };
}

/** Makes functions of the code of that hash that return at once instead of making promises; undefined if it is not prompt. */
export function promptFactory(hash: string): CodeFactory | undefined {
  const code = codes.use(hash);
  if (code?.data.isPrompt !== true) return undefined;
  code.promptFactory ??= compileCode(withoutAsync(code.data), localUrl(code.data));
  return code.promptFactory;
}

/** The module of that hash. Throws when it was not accepted before. */
export function storedModule(hash: string): StoredModule {
  const module = modules.get(hash);
  if (module === undefined) throw new Error(`the module ${hash} is not here: it must be accepted first`);
  return module;
}

/** The file of a user's module. Throws when it does not exist here. */
export function moduleFile({ data }: Dependency): string {
  return pathOfModule(moduleData(data));
}

/** The checked data of a module dependency. */
interface ModuleData {
  readonly specifier: string | undefined;
  readonly from: string | undefined;
  readonly file: string | undefined;
  readonly content: string | undefined;
  readonly imports: readonly string[];
  readonly importsContent: string | undefined;
  readonly packageName: string | undefined;
  readonly subpath: string | undefined;
  /** The modules that the sender's program imported from the package. */
  readonly entries: readonly ModuleData[];
  /** It was required at the sender, not imported. */
  readonly isCommonJs: boolean;
}

function moduleData(data: PlainData): ModuleData {
  const text = (key: string): string | undefined => {
    const value = isRecord(data) ? data[key] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return {
    specifier: text("specifier"),
    from: text("from"),
    file: text("file"),
    content: text("content"),
    imports: isRecord(data) && isStringList(data["imports"]) ? data["imports"] : [],
    importsContent: text("importsContent"),
    packageName: text("package"),
    subpath: text("subpath"),
    entries: isRecord(data) && Array.isArray(data["entries"]) ? data["entries"].map(moduleData) : [],
    isCommonJs: text("format") === "commonjs",
  };
}

/** The name of a module in messages. */
export function titleOfModule({ data }: Pick<Dependency, "data">): string {
  const { specifier, file, packageName, subpath } = moduleData(data);
  return specifier ?? (packageName === undefined ? (file ?? "?") : `${packageName}/${subpath ?? ""}`);
}

async function load(dependency: Dependency): Promise<void> {
  const data = moduleData(dependency.data);
  try {
    const namespace = await importData(data);
    if (data.content === undefined) indexExports(namespace, dependency, data.specifier ?? data.packageName ?? "");
    modules.set(dependency.hash, { state: "loaded", namespace, dependency, size: sizeOf(dependency) });
  } catch (error) {
    if (error instanceof ModuleUnavailable) throw error;
    const reason = messageOf(error);
    throw new ModuleUnavailable(
      `the module "${titleOfModule(dependency)}" cannot be loaded here: ${reason}`,
      dependency,
      {
        cause: error,
      },
    );
  }
}

async function loadAsNamed(dependency: Dependency): Promise<void> {
  await load(dependency);
  const data = moduleData(dependency.data);
  if (data.specifier === undefined) noteLoaded(pathOfModule(data), dependency);
}

async function importData(data: ModuleData): Promise<object> {
  if (data.specifier !== undefined) return loadFrom(importerOf(data), data.specifier, data);
  const path = pathOfModule(data);
  if (data.content !== undefined) {
    checkContent(path, data.content, data);
    for (const file of [path, ...data.imports.map(fromRootRelative)]) {
      await prepareForTypeScript(pathToFileURL(file).href);
    }
  }
  // The set-up of an entry must run first. If that fails, the file may still work.
  for (const entry of data.entries) await importData(entry).catch(() => undefined);
  return loadFrom(importerOf(data), data.isCommonJs ? path : pathToFileURL(path).href, data);
}

async function loadFrom(importer: string, specifier: string, { isCommonJs }: ModuleData): Promise<object> {
  if (!isCommonJs) return await importFrom(importer, specifier);
  const exports: unknown = createRequire(importer)(specifier);
  if ((typeof exports !== "object" || exports === null) && typeof exports !== "function") {
    throw new TypeError(`it exports ${String(exports)}`);
  }
  return exports;
}

/** Throws unless the loaded content is the sender's, also when the file was replaced after it was loaded. */
function checkContent(path: string, content: string, { imports, importsContent }: ModuleData): void {
  if (contentHash(readFileSync(path)) !== content) throw new Error("the file here has different content");
  const files = imports.map(fromRootRelative);
  if (importsContent !== undefined && hashOfFiles(files) !== importsContent) {
    throw new Error("a file that it imports has different content here");
  }
  for (const file of [path, ...files]) {
    if (isAsLoaded(file, () => scriptFrom(pathToFileURL(file).href)?.source)) continue;
    throw new Error(`"${file}" has changed here since it was loaded`);
  }
}

/** The file from which a specifier is resolved: in the directory that imported it at the caller, if that exists here. */
function importerOf({ from }: ModuleData): string {
  const directory = from === undefined ? undefined : fromRootRelative(from);
  return pathToFileURL(
    join(directory !== undefined && existsSync(directory) ? directory : projectRoot(), "shipped.mjs"),
  ).href;
}

function pathOfModule({ file, packageName, subpath }: ModuleData): string {
  const inRoot = file === undefined ? undefined : fromRootRelative(file);
  if (inRoot !== undefined && (packageName === undefined || existsSync(inRoot))) return inRoot;
  for (let directory = projectRoot(); packageName !== undefined; directory = dirname(directory)) {
    const candidate = join(directory, "node_modules", packageName, subpath ?? "");
    if (existsSync(candidate)) return candidate;
    if (dirname(directory) === directory) break;
  }
  throw new Error("there is no such file");
}

/** Finds a module among those this process has loaded for itself. */
async function recognise(dependency: Dependency): Promise<void> {
  const data = moduleData(dependency.data);
  let isKnown = false;
  try {
    isKnown = data.specifier !== undefined && isBuiltin(data.specifier) ? true : isLoadedFile(data);
  } catch {
    isKnown = false;
  }
  // A module that this process sent is recognised even if its file has changed since.
  if (isKnown) {
    isKnown = await load(dependency).then(
      () => true,
      () => false,
    );
  }
  if (!isKnown) modules.set(dependency.hash, { state: "unknown", dependency, size: sizeOf(dependency) });
}

function isLoadedFile(data: ModuleData): boolean {
  const path = data.specifier === undefined ? pathOfModule(data) : specifiedFile(data, data.specifier);
  if (createRequire(OWN_URL).cache[path] !== undefined) return true;
  return !data.isCommonJs && scriptFrom(pathToFileURL(path).href) !== undefined;
}

function specifiedFile(data: ModuleData, specifier: string): string {
  const importer = fileURLToPath(importerOf(data));
  const imported = data.isCommonJs ? undefined : importResolve(specifier, importer);
  return imported ?? createRequire(importer).resolve(specifier);
}

/** The URL from which code of another process resolves its imports here. */
function localUrl({ file, url }: CodeData): string {
  if (file !== "") return urlInRoot(file);
  return pathOf(url) === undefined ? pathToFileURL(join(projectRoot(), "shipped.mjs")).href : url;
}
