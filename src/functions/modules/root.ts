import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BoundedMap, OWN_URL } from "../shipment/index.ts";

let configured: string | undefined;
let computed: string | undefined;
let entry: { readonly path: string | undefined } | undefined;

/** Sets the directory that references to the user's modules are relative to; a worker does this before its first task. */
export function configureRoot(directory: string): void {
  configured = resolve(directory);
}

/**
 * Sets the file that counts as the entry file of this process: for a tool that loads a program to examine it. Call it
 * before anything is taken apart.
 */
export function configureEntry(path: string): void {
  entry = { path: realpathSync(path) };
}

/**
 * The directory that references to the user's modules are relative to: the one that was configured, else that of the
 * nearest package.json above the entry file, else the current one.
 */
export function projectRoot(): string {
  if (configured !== undefined) return configured;
  computed ??= findRoot();
  return computed;
}

function findRoot(): string {
  const start = entryPath();
  // A test runner or another tool is the entry: the project is where it was started.
  if (start === undefined || isInPackage(start)) return process.cwd();
  for (let directory = dirname(start); ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
    if (dirname(directory) === directory) return process.cwd();
  }
}

/** The file this process, or this thread, was started with; undefined in a REPL or with `-e`. */
export function entryPath(): string | undefined {
  entry ??= { path: findEntry() };
  return entry.path;
}

function findEntry(): string | undefined {
  const [, argument] = process.argv;
  if (argument === undefined) return undefined;
  const path = argument.startsWith("file:") ? fileURLToPath(argument) : resolve(argument);
  try {
    return realpathSync(existsSync(path) ? path : createRequire(OWN_URL).resolve(path));
  } catch {
    return undefined;
  }
}

/** True for a file that belongs to an installed package. */
export function isInPackage(path: string): boolean {
  return path.split(sep).includes("node_modules");
}

const paths = new BoundedMap<string, string>(1024);

/** The path of a `file:` URL, or the path itself; undefined for anything else. */
export function pathOf(url: string): string | undefined {
  if (!url.startsWith("file:")) return isAbsolute(url) ? url : undefined;
  // Each function asks for the path of its file several times; parsing the URL each time takes 6 us in all.
  const known = paths.get(url);
  if (known !== undefined) return known;
  try {
    const path = fileURLToPath(url);
    paths.set(url, path);
    return path;
  } catch {
    return undefined;
  }
}

// `[eval]`, `[stdin]` and the lines of the console, which have names instead of files.
const WITHOUT_FILE = /^(?:\[(?:eval|stdin)\]|REPL\d+)$/;
let startedIn: string | undefined;

/**
 * The path that the specifiers in a script are relative to: that of its file. Code from `-e`, the standard input or the
 * console finds modules from the directory that the process was started in. Undefined for anything else.
 */
export function importerOf(url: string): string | undefined {
  if (!WITHOUT_FILE.test(url)) return pathOf(url);
  startedIn ??= join(process.cwd(), "[eval]");
  return startedIn;
}

/**
 * A file's path on the wire: relative to the root, with forward slashes. It leads out of the root for a package of the
 * same workspace. Undefined for the root itself, and for a file on another drive.
 */
export function toRootRelative(path: string): string | undefined {
  const within = relative(projectRoot(), path);
  return within === "" || isAbsolute(within) ? undefined : within.split(sep).join("/");
}

const foreignFiles = new BoundedMap<string, string>(10_000);

/** Remembers the name of a file in code from another process. */
export function noteForeignFile(url: string, file: string): void {
  if (file !== "" && url !== "") foreignFiles.set(url, file);
}

/** A file's name on the wire, from its URL; empty for anything but files. */
export function rootRelativeFile(url: string): string {
  const foreign = foreignFiles.get(url);
  if (foreign !== undefined) return foreign;
  const path = pathOf(url);
  return (path === undefined ? undefined : toRootRelative(path)) ?? "";
}

/** The path in this process of a file named relative to the root. */
export function fromRootRelative(file: string): string {
  return join(projectRoot(), ...file.split("/"));
}

/** The url of a file named relative to the root. */
export function urlInRoot(file: string): string {
  return pathToFileURL(fromRootRelative(file)).href;
}
