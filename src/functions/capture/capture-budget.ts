import { statSync } from "node:fs";
import { isReassigned, usesOuterThis } from "../emit/index.ts";
import {
  afterCapture,
  type CodeSite,
  captureNumber,
  type FunctionLocation,
  isQuicklyEntered,
  type SourceFile,
  scriptUrl,
} from "../engine/index.ts";
import { pathOf } from "../modules/index.ts";
import { BoundedMap, overrideFor, ShippingError, type ShippingPolicy, titleOfFunction } from "../shipment/index.ts";
import { isModuleLevel } from "../syntax/index.ts";

/** Taking this many functions apart blocks the process for seconds. */
const MOST_FUNCTIONS = 10_000;
/** Packages are not written to be taken apart. When that takes most of a second, the object should be made in the worker. */
const MOST_OF_PACKAGES = 2000;
/** A whole package travels when the receiver does not have it, or when the user asks for that. */
const MOST_ON_REQUEST = 20_000;
/**
 * What a function costs, in units of 0.4 ms: a bound one, any other, one that may share a variable that is assigned to,
 * and the extra cost when it has to be entered to find its `this`.
 */
const BOUND = 0.5;
const WRITTEN = 2;
const SHARING = 5;
const ENTERED = 4;
const STOPPED = 80;
/** Every function has a few properties; this many more cost one unit. */
const USUAL_PROPERTIES = 3;
const PROPERTIES = 3;
/**
 * Reading this many characters of another file of a package costs as much, too: of the time for an expression of mathjs,
 * with its hundred files, a third. One large file does not decide.
 */
const CHARACTERS = 1000;
const MOST_FOR_A_FILE = 250;

let counted: number | undefined;
let functions = 0;
let taken = 0;
let ofPackages = 0;
let isRefused = false;
let isOnRequest = false;
const files = new Set<SourceFile>();

/**
 * Counts a function that travels by value in the capture that is under way. Throws `ShippingError` when there are too
 * many of them. The path to this one leads through the functions that were counted before.
 *
 * @param site - where it was written; undefined for a bound function
 * @param file - the url or path of the file that it was written in
 * @param policy - how it travels
 */
export function countFunction(
  fn: object,
  site: CodeSite | undefined,
  file: string | undefined,
  policy: ShippingPolicy,
): void {
  const capture = captureNumber();
  if (capture !== counted) {
    functions = 0;
    taken = 0;
    ofPackages = 0;
    isRefused = false;
    isOnRequest = false;
    files.clear();
    afterCapture(() => files.clear());
  }
  counted = capture;
  functions += 1;
  taken += 1;
  const name = file === undefined ? undefined : packageOf(file);
  if (name !== undefined) ofPackages += costOf(fn, site);
  if ((policy.unavailable?.size ?? 0) > 0 || (name !== undefined && overrideFor(name) === "value")) isOnRequest = true;
  if (taken <= MOST_FUNCTIONS && ofPackages <= (isOnRequest ? MOST_ON_REQUEST : MOST_OF_PACKAGES)) return;
  isRefused = true;
  throw overBudget(fn, name);
}

const packages = new BoundedMap<string, { readonly name: string | undefined }>(4096);

/** The name of the package that a file belongs to. Remembered: a file of a package has hundreds of functions. */
export function packageOf(file: string): string | undefined {
  const known = packages.get(file) ?? { name: /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] };
  packages.set(file, known);
  return known.name;
}

/** True when the capture under way has refused a function that was one too many. */
export function isOverBudget(): boolean {
  return isRefused && captureNumber() === counted;
}

/** Throws for a function beyond the budget of the capture under way, before it is examined. */
export function refuseBeyondBudget(fn: object): void {
  if (isOverBudget()) throw overBudget(fn, undefined);
}

/** Taking a larger file of a package apart takes seconds, however few of its functions travel. */
const LARGEST_FILE = 3_000_000;

/** Throws `ShippingError` for a function in a file of a package that is too large to be parsed, unless that was asked for. */
export function refuseLargeFile(fn: object, location: FunctionLocation | undefined, policy: ShippingPolicy): void {
  const url = location === undefined ? undefined : scriptUrl(location.scriptId);
  const name = url === undefined ? undefined : packageOf(url);
  const size = url === undefined || name === undefined ? 0 : sizeOf(url);
  if (
    size <= LARGEST_FILE ||
    name === undefined ||
    (policy.unavailable?.size ?? 0) > 0 ||
    overrideFor(name) === "value"
  )
    return;
  throw new ShippingError(
    `${titleOfFunction(fn)} of the package "${name}" is in a file of ${(size / 1e6).toFixed(1)} MB, and to take it apart would block this ` +
      "process for seconds",
    [],
    "make the object that holds it in each worker instead, with `perWorker(() => ...)` or in a module that workers load",
  );
}

const sizes = new BoundedMap<string, number>(4096);

/** The size of a file in bytes. The text is not read: where V8 does not tell which source it has, that parses the file. */
function sizeOf(url: string): number {
  const path = pathOf(url);
  const size = sizes.get(url) ?? (path === undefined ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0));
  sizes.set(url, size);
  return size;
}

function overBudget(fn: object, name: string | undefined): ShippingError {
  const origin = name === undefined ? "" : ` of the package "${name}"`;
  return new ShippingError(
    `${titleOfFunction(fn)}${origin} is one of ${origin === "" ? `more than ${MOST_FUNCTIONS.toLocaleString("en")}` : "many"} functions ` +
      "that would have to travel, which would block this process for seconds",
    [],
    "make the object that holds them in each worker instead, with `perWorker(() => ...)` or in a module that workers load",
  );
}

function costOf(fn: object, site: CodeSite | undefined): number {
  const properties = Math.max(0, Reflect.ownKeys(fn).length - USUAL_PROPERTIES) / PROPERTIES;
  if (site === undefined) return BOUND + properties;
  const entering = !usesOuterThis(site) ? 0 : isQuicklyEntered(site) ? ENTERED : STOPPED;
  return (mayShare(site) ? SHARING : WRITTEN) + properties + entering + costOfFile(site.file);
}

/** True for a function that uses a variable of a call around it to which some inner function assigns. */
function mayShare({ free, file }: CodeSite): boolean {
  for (const { binding } of free.values()) {
    if (binding !== undefined && !isModuleLevel(binding.scope, file.program) && isReassigned(binding, file))
      return true;
  }
  return false;
}

/** The cost of reading a file, for the first function in it. */
function costOfFile(file: SourceFile): number {
  if (files.has(file)) return 0;
  files.add(file);
  return Math.min(file.source.length / CHARACTERS, MOST_FOR_A_FILE);
}

/** Counts a function that the capture has taken apart before, and that travels in another payload too. */
export function countAgain(): void {
  functions += 1;
}

/** How many functions the capture that is under way has counted so far. */
export function countedFunctions(): number {
  return captureNumber() === counted ? functions : 0;
}
