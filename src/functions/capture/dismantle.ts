import { createRequire } from "node:module";
import { dirname } from "node:path";
import { types } from "node:util";
import {
  afterCapture,
  asOneCapture,
  EngineClosed,
  type FunctionView,
  foreseeObjects,
  type Script,
  viewBoundFunctions,
  viewFunction,
} from "../engine/index.ts";
import { type ModuleReference, moduleFactsOf, requiredExport, toRootRelative } from "../modules/index.ts";
import {
  type AnyFunction,
  type Dismantled,
  identify,
  identityOf,
  isClass,
  isFunction,
  isRecord,
  OWN_URL,
  PartsList,
  processId,
  type RevivedSource,
  revivedSource,
  ShippingError,
  type ShippingPolicy,
  titleOfFunction,
} from "../shipment/index.ts";
import { factsOf, hasFacts, isTied, selfContainedSite } from "../variables/index.ts";
import { countAgain, countFunction, refuseBeyondBudget, refuseLargeFile } from "./capture-budget.ts";
import type { CapturedValue } from "./captured-values.ts";
import { noteHolder } from "./class-members.ts";
import { describeClass, describePrivateStatics, pristineBody } from "./describe-class.ts";
import { describeFunction } from "./describe-function.ts";
import { keepShipment, keptShipment } from "./kept-shipments.ts";
import { isReadAgain } from "./live-scopes.ts";
import {
  ancestorsOf,
  byModule,
  byName,
  fileOf,
  importReference,
  isAllowed,
  namedAgain,
  referenceOf,
  universalReference,
  whyUnavailable,
} from "./references.ts";
import { takeByValue } from "./take-by-value.ts";

const AUTO: ShippingPolicy = {};

/** A function taken apart, and why it travels that way. */
export interface DismantledWithReason {
  readonly shipment: Dismantled;
  readonly way: "reference" | "value";
  /** Why it travels that way. */
  readonly reason: string;
  /** Its captured variables, when it travels by value and was made in this process. */
  readonly captured: readonly CapturedValue[];
}

/**
 * Takes a function or class apart so that it can travel: by reference when the receiver can get the same function by
 * itself, by value otherwise. Throws `ShippingError` when it can travel neither way.
 */
export function dismantle(fn: object, policy: ShippingPolicy = AUTO): Dismantled {
  return dismantleWithReason(fn, policy).shipment;
}

function sentByReference(shipment: Dismantled, reason: string): DismantledWithReason {
  return { shipment, way: "reference", reason, captured: [] };
}

interface TakenApart {
  readonly policy: ShippingPolicy;
  readonly result: DismantledWithReason;
  /** It was only looked at so far. */
  isPreview: boolean;
}

/** The functions that the capture under way has taken apart: they do not change before its end. */
const takenApart = new Map<object, TakenApart>();

/** Functions that have travelled by reference: the engine was not asked about most of them, and will not be. */
const named = new WeakSet<object>();

/** Like `dismantle`, and tells the reason. */
export function dismantleWithReason(fn: object, policy: ShippingPolicy = AUTO): DismantledWithReason {
  return asOneCapture(() => {
    const known = takenApart.get(fn);
    if (known === undefined || !isAsGood(known, policy)) return remember(fn, policy, false);
    if (known.result.way === "value" && !known.isPreview) countAgain();
    known.isPreview = false;
    return known.result;
  });
}

/** Like `dismantleWithReason`, for a function that need not travel because of that. */
export function previewOf(fn: object, policy: ShippingPolicy): DismantledWithReason {
  return asOneCapture(() => {
    const known = takenApart.get(fn);
    return known !== undefined && isAsGood(known, policy) ? known.result : remember(fn, policy, true);
  });
}

/** The functions that the capture under way has taken apart, each with the policy for it. */
export function* examined(): Generator<readonly [fn: object, policy: ShippingPolicy]> {
  for (const [fn, { policy }] of takenApart) yield [fn, policy];
}

function remember(fn: object, policy: ShippingPolicy, isPreview: boolean): DismantledWithReason {
  const result = takeApart(fn, policy);
  if (takenApart.size === 0) afterCapture(() => takenApart.clear());
  takenApart.set(fn, { policy, result, isPreview });
  if (result.way === "reference") named.add(fn);
  return result;
}

/** True when the result for one policy is also right for another one. */
function isAsGood({ policy: made, result }: TakenApart, wanted: ShippingPolicy): boolean {
  if (made === wanted) return true;
  // Whether a function goes back as the original may depend on the object that holds it.
  const isAnyHolder = wanted.holder === undefined || (wanted.destination === undefined && !dependsOnHolder(result));
  return (
    made.ship === wanted.ship &&
    made.unavailable === wanted.unavailable &&
    made.destination === wanted.destination &&
    (isAnyHolder || made.holder === wanted.holder)
  );
}

/** True for code with `super` or private names. Other methods travel in the same way, whatever object has them. */
function dependsOnHolder({ shipment: { head } }: DismantledWithReason): boolean {
  return isRecord(head) && (head["kind"] === "member" || head["kind"] === "inner" || "home" in head);
}

function takeApart(fn: object, policy: ShippingPolicy): DismantledWithReason {
  if (!isFunction(fn)) {
    throw new ShippingError(`${typeof fn} is not a function`, [], "pass a function or a class");
  }
  if (types.isProxy(fn)) {
    // A package may export one. The receiver uses its own.
    const exported = policy.ship === "value" ? undefined : importReference(fn, policy);
    if (exported !== undefined) return sentByReference(byModule(fn, exported), exportReason(exported));
    throw new ShippingError(
      "a Proxy of a function cannot be looked into: it does not show its target",
      [],
      "pass or capture the function behind it",
    );
  }
  const universal = universalReference(fn);
  if (universal !== undefined) return sentByReference(universal, "every process has it");
  const id = identityOf(fn);
  const revived = revivedSource(fn);
  const isBack = id !== undefined && isOrigin(id, policy);
  if (isBack && (revived === undefined || !isTiedTo(fn, revived, policy))) {
    return sentByReference(byName({ kind: "returning", id }), "it came from there");
  }
  const isByValue = policy.ship === "value";
  const imported = isByValue ? undefined : importReference(fn, policy);
  if (imported !== undefined) return sentByReference(byModule(fn, imported, ancestry(fn)), exportReason(imported));
  if (revived !== undefined) {
    return { ...sentByReference(takeRevived(fn, revived, policy), "it was sent here"), way: "value" };
  }
  const directory = requireDirectory(fn);
  if (directory !== undefined) return sentByReference(byName({ kind: "require", directory }), "every process has it");
  try {
    return takeOwn(fn, policy, isByValue);
  } catch (error) {
    if (!(error instanceof EngineClosed)) throw error;
    return takeUnseen(fn, policy);
  }
}

/** Without the inspector, a function can travel only by name or as self-contained code. */
function takeUnseen(fn: AnyFunction, policy: ShippingPolicy): DismantledWithReason {
  const exported = policy.ship === "value" ? undefined : requiredExport(fn);
  if (exported !== undefined && isAllowed(exported, policy)) {
    return sentByReference(byModule(fn, exported, ancestry(fn)), exportReason(exported));
  }
  const site = selfContainedSite(fn);
  if (site === undefined) {
    throw new ShippingError(
      `${titleOfFunction(fn)} may have captured variables, and Node's permission model does not let the runtime read them`,
      [],
      "export it from a CommonJS module other than the entry file, or start Node without the permission model",
    );
  }
  const source = (): FunctionView => ({ location: undefined, scopes: [], bound: undefined });
  return { ...takeByValue(fn, site, source, policy), way: "value", reason: "it uses nothing from outside" };
}

/** The target and arguments of bound functions. They never change. */
const boundViews = new WeakMap<object, NonNullable<FunctionView["bound"]>>();

/**
 * Says which functions the capture under way is about to take apart: the engine tells about many of them faster than
 * about each by itself. Values that are no functions, and functions that it need not tell about again, are left out.
 */
export function foresee(values: readonly unknown[]): void {
  const unknown = values.filter(isFunction).filter((fn) => !types.isProxy(fn) && !isKnown(fn));
  if (unknown.length < 2) return;
  const bound = unknown.filter(looksBound);
  try {
    foreseeObjects(unknown);
    for (const [index, view] of viewBoundFunctions(bound).entries()) {
      const fn = bound[index];
      if (fn !== undefined && view !== undefined) boundViews.set(fn, view);
    }
  } catch (error) {
    if (!(error instanceof EngineClosed)) throw error;
  }
}

function isKnown(fn: AnyFunction): boolean {
  if (named.has(fn) || boundViews.has(fn) || revivedSource(fn) !== undefined) return true;
  return hasFacts(fn) && !isReadAgain(fn);
}

/**
 * The engine lists the properties of a function, too: those of 200 types of arktype take a fifth of a second. Such
 * functions are looked at in their turn, so that the budget for the capture is noticed in time.
 */
const MOST_PROPERTIES = 20;

/** The name that `bind` gives. Another function may have such a name; the engine tells. */
function looksBound(fn: AnyFunction): boolean {
  const name: unknown = Reflect.getOwnPropertyDescriptor(fn, "name")?.value;
  return typeof name === "string" && name.startsWith("bound ") && Reflect.ownKeys(fn).length <= MOST_PROPERTIES;
}

function takeOwn(fn: AnyFunction, policy: ShippingPolicy, isByValue: boolean): DismantledWithReason {
  refuseBeyondBudget(fn);
  const kept = keptShipment(fn, policy);
  if (kept !== undefined) {
    countFunction(fn, kept.site, kept.file, policy);
    noteBoundHolder(boundViews.get(fn));
    return kept.result;
  }
  let view: FunctionView | undefined;
  const source = (): FunctionView => {
    view ??= viewFunction(fn);
    return view;
  };
  const bound = boundViews.get(fn) ?? (hasFacts(fn) ? undefined : source().bound);
  if (bound !== undefined) {
    boundViews.set(fn, bound);
    const file = fileOf(bound.target);
    countFunction(fn, undefined, file, policy);
    const shipment = takeBound(fn, bound);
    const result: DismantledWithReason = { shipment, way: "value", reason: "it is bound", captured: [] };
    keepShipment(fn, policy, { result, site: undefined, file });
    return result;
  }
  if (!hasFacts(fn)) refuseLargeFile(fn, source().location, policy);
  const { exported, site } = factsOf(fn, source);
  if (!isByValue && exported !== undefined && isAllowed(exported, policy)) {
    return sentByReference(byModule(fn, exported, ancestry(fn)), exportReason(exported));
  }
  if (policy.ship === "reference") throw notByReference(fn, exported, policy);
  const { script } = site.file;
  countFunction(fn, site, script.url, policy);
  const reason = isByValue ? '`ship: "value"` asks for it' : valueReason(script, exported);
  const result: DismantledWithReason = { ...takeByValue(fn, site, source, policy), way: "value", reason };
  if (site.form !== "class") keepShipment(fn, policy, { result, site, file: script.url });
  return result;
}

function notByReference(fn: AnyFunction, exported: ModuleReference | undefined, policy: ShippingPolicy): ShippingError {
  if (exported === undefined) {
    return new ShippingError(
      `${titleOfFunction(fn)} is not an export of a module that a worker can load`,
      [],
      'export it from a module other than the entry file, or leave out `ship: "reference"`',
    );
  }
  const { path, title } = exported;
  const why = whyUnavailable(exported, policy);
  const travels = `has to travel by reference, as the export "${path.join(".")}" of "${title}"`;
  if (why === undefined) {
    return new ShippingError(
      `${travels}, but \`shipping.byValue\` covers that module`,
      [],
      'remove `ship: "reference"`, or take the module out of `shipping.byValue`',
    );
  }
  return new ShippingError(
    `${travels}, which the worker cannot use (${why})`,
    [],
    'give the worker the same file and its imports, or leave out `ship: "reference"`',
  );
}

function exportReason({ title, path, isVariable }: ModuleReference): string {
  if (isVariable === true) return `it is the class "${path.join(".")}" of "${title}"`;
  return path.length === 0 ? `it is what "${title}" exports` : `it is the export "${path.join(".")}" of "${title}"`;
}

function valueReason(script: Script, exported: ModuleReference | undefined): string {
  if (exported !== undefined) return `the receiver cannot load "${exported.title}", or \`shipping.byValue\` covers it`;
  const { hindrance } = moduleFactsOf(script);
  return hindrance === undefined ? "it is not an export of its module" : `its module does not travel: ${hindrance}`;
}

function ancestry(fn: AnyFunction): { readonly [key: string]: string | string[] } {
  return isClass(fn) ? { name: fn.name, ancestors: ancestorsOf(fn) } : {};
}

/** The directory from which a `require` function looks for modules, relative to the root if possible. */
function requireDirectory(fn: AnyFunction): string | undefined {
  const resolve: unknown = Reflect.getOwnPropertyDescriptor(fn, "resolve")?.value;
  const cache: unknown = Reflect.getOwnPropertyDescriptor(fn, "cache")?.value;
  if (typeof resolve !== "function" || cache !== createRequire(OWN_URL).cache) return undefined;
  const lookup: unknown = Reflect.get(resolve, "paths");
  const paths: unknown = typeof lookup === "function" ? Reflect.apply(lookup, resolve, ["package"]) : undefined;
  const [first] = Array.isArray(paths) ? paths : [];
  if (typeof first !== "string") return undefined;
  const directory = dirname(first);
  return toRootRelative(directory) ?? directory;
}

function noteBoundHolder(bound: FunctionView["bound"]): void {
  if (typeof bound?.self === "object" && bound.self !== null) noteHolder(bound.self);
}

function takeBound(fn: AnyFunction, bound: NonNullable<FunctionView["bound"]>): Dismantled {
  noteBoundHolder(bound);
  const parts = new PartsList();
  parts.add(bound.target, "bound function");
  parts.add(bound.self, "bound this");
  for (const [index, value] of bound.args.entries()) parts.add(value, `bound argument ${index}`);
  const captured = parts.values.length;
  const head = { kind: "bound", id: identify(fn), captured, ...describeFunction(fn, parts) };
  return { head, dependencies: [], early: [], parts: parts.values, labels: parts.labels };
}

function isTiedTo(fn: AnyFunction, revived: RevivedSource, policy: ShippingPolicy): boolean {
  return isTied(fn, revived, policy, (value) => referenceOf(value, policy) !== undefined);
}

/** True when the function or class with that id was made by the receiver. */
function isOrigin(id: string, { destination }: ShippingPolicy): boolean {
  return destination !== undefined && destination !== processId && id.startsWith(destination);
}

/** A function that was revived here travels on with its original code and its current values. */
function takeRevived(fn: AnyFunction, revived: RevivedSource, policy: ShippingPolicy): Dismantled {
  const { code, early, pristine, kind, labels } = revived;
  const isCopy = isOrigin(identify(fn), policy) && isTiedTo(fn, revived, policy);
  // Where its class was defined, nothing else can make it.
  if (isCopy && kind === "inner") {
    throw new ShippingError(
      `${titleOfFunction(fn)} uses private names and belongs to an object that goes back as a copy`,
      [],
      "write it as a method of the class, or return plain data",
    );
  }
  const parts = new PartsList();
  for (const [index, value] of revived.captured().entries()) parts.add(namedAgain(value, policy), labels[index] ?? "");
  const common = {
    kind,
    id: identify(fn),
    captured: parts.values.length,
    ...(isCopy ? { isCopy } : {}),
    ...(code === undefined ? {} : { code: code.hash }),
    ...(revived.index === undefined ? {} : { index: revived.index }),
  };
  const home = revived.home === undefined ? {} : { home: parts.add(revived.home(), "super") };
  const head =
    pristine === undefined
      ? { ...common, ...home, ...describeFunction(fn, parts) }
      : {
          ...common,
          hasHeritage: revived.hasHeritage,
          ...(revived.isQuiet === true ? { isQuiet: true } : {}),
          ancestors: ancestorsOf(fn),
          ...describeClass(fn, pristineBody(pristine), parts),
          ...describePrivateStatics(revivedStatics(revived), parts),
        };
  return {
    head,
    dependencies: code === undefined ? [] : [code],
    early,
    parts: parts.values,
    labels: parts.labels,
  };
}

function revivedStatics({ privates }: RevivedSource): { name: string; value: unknown }[] {
  const values = privates?.readStatic() ?? [];
  return (privates?.statics ?? []).map((name, index) => ({ name: `#${name}`, value: values[index] }));
}
