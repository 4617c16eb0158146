import { usesOuterThis } from "../emit/index.ts";
import { type CodeSite, captureNumber } from "../engine/index.ts";
import { ShippingError, titleOfFunction } from "../shipment/index.ts";

/** Taking this many functions apart holds up the process for seconds. */
const MOST_FUNCTIONS = 10_000;
/** A package is not written to be taken apart: long before that it should be made where it is used. */
const MOST_OF_PACKAGES = 500;
/** Entering a function to find its `this` takes as long as taking this many apart. */
const ENTERING = 10;

let counted: number | undefined;
let functions = 0;
let taken = 0;
let ofPackages = 0;
let isRefused = false;

/**
 * Counts a function that travels by value in the capture that is under way. Throws `ShippingError` when there are too
 * many of them: how the user gets there is found among those that were taken before.
 */
export function countFunction(fn: object, site: CodeSite | undefined): void {
  const capture = captureNumber();
  if (capture !== counted) {
    functions = 0;
    taken = 0;
    ofPackages = 0;
    isRefused = false;
  }
  counted = capture;
  functions += 1;
  taken += 1;
  const name = packageOf(site);
  if (name !== undefined) ofPackages += site !== undefined && usesOuterThis(site) ? ENTERING : 1;
  if (taken <= MOST_FUNCTIONS && ofPackages <= MOST_OF_PACKAGES) return;
  isRefused = true;
  throw refusalOf(fn, name);
}

/** Throws for a function that the capture under way has no room for, before anything is found out about it. */
export function refuseBeyondBudget(fn: object): void {
  if (isRefused && captureNumber() === counted) throw refusalOf(fn, undefined);
}

function refusalOf(fn: object, name: string | undefined): ShippingError {
  const most = taken > MOST_FUNCTIONS ? MOST_FUNCTIONS : MOST_OF_PACKAGES;
  const origin = name === undefined ? "" : ` of the package "${name}"`;
  return new ShippingError(
    `${titleOfFunction(fn)}${origin} is one of ${origin === "" ? `more than ${most.toLocaleString("en")}` : "many"} functions ` +
      "that would have to travel along, which would hold up this process for seconds",
    [],
    "make what holds them in each worker instead, with `perWorker(() => ...)`, or in a module that workers load",
  );
}

function packageOf(site: CodeSite | undefined): string | undefined {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(site?.file.script.url ?? "")?.[1];
}

/** Counts a function that the capture has taken apart before, and that travels in another payload too. */
export function countAgain(): void {
  functions += 1;
}

/** How many functions the capture that is under way has counted so far. */
export function countedFunctions(): number {
  return captureNumber() === counted ? functions : 0;
}
