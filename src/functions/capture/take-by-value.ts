import { type EmissionPlan, emitCode, innerPlan, innerSites, privateOwner, usesOuterThis } from "../emit/index.ts";
import {
  type CodeSite,
  type FunctionView,
  isDebuggerAttached,
  outerReceiver,
  type PrivateField,
  privateMembersAt,
  viewPrivates,
} from "../engine/index.ts";
import {
  type AnyFunction,
  type Dependency,
  type Dismantled,
  dependencyOf,
  identify,
  noteMembers,
  overridesVersion,
  PartsList,
  type PlainData,
  ShippingError,
  type ShippingPolicy,
  titleOfFunction,
  toPlain,
} from "../shipment/index.ts";
import { captureVariables, isQuietClass } from "../variables/index.ts";
import { type CapturedValue, captureValue } from "./captured-values.ts";
import { classAround, homeOf, memberPlaceOf, usesOwnSuper } from "./class-members.ts";
import { bodyAt, definedBy, definitionValues, describeClass, describePrivateStatics } from "./describe-class.ts";
import { describeFunction } from "./describe-function.ts";
import { noteRead, scopesOf } from "./live-scopes.ts";
import { ancestorsOf } from "./references.ts";
import { decoratingPackage } from "./source-notes.ts";

/** A function taken apart by value, and its captured variables. */
export interface TakenByValue {
  readonly shipment: Dismantled;
  readonly captured: readonly CapturedValue[];
}

/** Where the captured variables of a function are read: in the engine, or from values that are known to be unchanged. */
export type CaptureSource = () => FunctionView;

/** Takes a function or class apart into its code and its captured variables. Throws `ShippingError` when it cannot travel. */
export function takeByValue(
  fn: AnyFunction,
  site: CodeSite,
  source: CaptureSource,
  policy: ShippingPolicy,
): TakenByValue {
  const captured = captureAll(fn, site, source, policy);
  return { shipment: shipmentOf(fn, site, source, captured, policy), captured: [...captured.values()] };
}

function shipmentOf(
  fn: AnyFunction,
  site: CodeSite,
  source: CaptureSource,
  captured: Captured,
  policy: ShippingPolicy,
): Dismantled {
  const usesPrivateNames = site.outward.some(({ type }) => type === "private");
  if (usesPrivateNames && site.form === "expression") return takeFromInside(fn, site, source, captured, policy);
  if (usesPrivateNames || (usesOwnSuper(site) && site.unit.literal === undefined)) {
    return takeAsMember(fn, site, source, policy);
  }
  const plan = planFor(captured, site);
  const code = codeDependency(site, plan);
  const parts = partsFor(fn, site, plan, captured);
  const common = { id: identify(fn), code: code.hash, captured: parts.values.length };
  if (site.form === "class") return finishClass(fn, site, code, common, parts);
  const home = usesOwnSuper(site) ? { home: parts.add(superOf(fn, site, policy), "super") } : {};
  const head = { kind: "function", ...common, ...home, ...describeFunction(fn, parts) };
  return { head, dependencies: [code], early: [], parts: parts.values, labels: parts.labels };
}

type Captured = ReadonlyMap<string, CapturedValue>;

/**
 * Captured variables that cannot change. Modules that a receiver lacks travel in another way, so there is one for each
 * set of lacking modules.
 */
interface FixedCapture {
  readonly captured: Captured;
  readonly version: number;
  readonly lacking: number;
}

const fixed = new WeakMap<object, FixedCapture>();
const fixedWithout = new WeakMap<ReadonlyMap<string, string>, WeakMap<object, FixedCapture>>();

function fixedFor({ unavailable }: ShippingPolicy): WeakMap<object, FixedCapture> {
  if (unavailable === undefined || unavailable.size === 0) return fixed;
  const known = fixedWithout.get(unavailable) ?? new WeakMap<object, FixedCapture>();
  fixedWithout.set(unavailable, known);
  return known;
}

/** The captured variables. Those that cannot change are looked up once. */
function captureAll(fn: AnyFunction, site: CodeSite, source: CaptureSource, policy: ShippingPolicy): Captured {
  const version = overridesVersion();
  const lacking = policy.unavailable?.size ?? 0;
  const cache = fixedFor(policy);
  const known = cache.get(fn);
  if (known?.version === version && known.lacking === lacking) return known.captured;
  refuseWhatCannotTravel(site);
  const scopes = site.free.size === 0 ? [] : lacking === 0 ? scopesOf(fn, site, source) : source().scopes;
  const variables = site.free.size === 0 ? [] : captureVariables(fn, site, scopes);
  const captured = new Map(variables.map((variable) => [variable.name, captureValue(fn, site, variable, policy)]));
  if (variables.every(({ name }) => captured.get(name)?.isFixed)) cache.set(fn, { captured, version, lacking });
  else if (lacking === 0) noteRead(fn, variables, captured);
  return captured;
}

function planFor(captured: Captured, site: CodeSite): EmissionPlan {
  const named = (wanted: CapturedValue["kind"]): string[] =>
    [...captured.values()].filter(({ kind }) => kind === wanted).map(({ name }) => name);
  return { slots: named("slot"), cells: named("cell"), capturesThis: usesOuterThis(site) };
}

/** The values for the slots of a plan, in its order. */
function partsFor(fn: AnyFunction, site: CodeSite, plan: EmissionPlan, captured: Captured): PartsList {
  const parts = new PartsList();
  for (const name of [...plan.slots, ...plan.cells]) parts.add(captured.get(name)?.value, name);
  if (plan.capturesThis) parts.add(outerThis(fn, site), "this");
  return parts;
}

/** A function that uses private names without being a member of the class is made by the code of the class. */
function takeFromInside(
  fn: AnyFunction,
  site: CodeSite,
  source: CaptureSource,
  captured: Captured,
  policy: ShippingPolicy,
): Dismantled {
  const node = privateOwner(site);
  const plan = innerPlan(site);
  const isForeseen = [...captured.values()].every(
    ({ name, kind }) =>
      site.free.get(name)?.binding?.kind === "class-name" || (kind === "slot" ? plan.slots : plan.cells).includes(name),
  );
  const parts = partsFor(fn, site, plan, captured);
  const receiver = plan.capturesThis ? parts.values.at(-1) : undefined;
  const holder = typeof receiver === "object" && receiver !== null ? receiver : policy.holder;
  const owner = node === undefined ? undefined : classAround(site, node, source().scopes, holder);
  if (owner === undefined || !isForeseen) throw privateRefusal(fn, site);
  const index = innerSites(owner.site).findIndex(({ unit }) => unit === site.unit);
  const head = {
    kind: "inner",
    index,
    id: identify(fn),
    captured: parts.values.length,
    ...describeFunction(fn, parts),
  };
  return { head, dependencies: [], early: [owner.cls], parts: parts.values, labels: parts.labels };
}

function privateRefusal(fn: AnyFunction, site: CodeSite): ShippingError {
  const name = site.outward.find(({ type }) => type === "private")?.name ?? "";
  return new ShippingError(
    `${titleOfFunction(fn)} uses the private name #${name}, and the class that declares it cannot be found`,
    [],
    "capture the instance or the class and call a method of it",
  );
}

function finishClass(
  cls: AnyFunction,
  site: CodeSite,
  code: Dependency,
  common: { readonly [key: string]: PlainData },
  parts: PartsList,
): Dismantled {
  const decorating = decoratingPackage(site);
  if (decorating !== undefined) throw registeredRefusal(cls, decorating);
  const early = definitionValues(cls, site);
  const { node } = site.unit;
  const body = bodyAt(cls, site, early);
  const hasPrivates = privateMembersAt(site).some(({ isStatic }) => !isStatic);
  const head = {
    kind: "class",
    ...common,
    hasHeritage: "superClass" in node && node.superClass != null,
    ...(hasPrivates && isQuietClass(cls) ? { isQuiet: true } : {}),
    ancestors: ancestorsOf(cls),
    ...describeClass(cls, body, parts),
    ...describePrivateStatics(privateStaticsOf(cls, site), parts),
  };
  for (const isStatic of [true, false]) noteMembers(cls, isStatic, definedBy(cls, body, isStatic));
  return { head, dependencies: [code], early, parts: parts.values, labels: parts.labels };
}

function registeredRefusal(cls: AnyFunction, source: string): ShippingError {
  return new ShippingError(
    `${titleOfFunction(cls)} has properties with decorators of "${source}", which keeps their metadata in this process`,
    [],
    "move the class into a separate module, which workers load by themselves",
  );
}

function privateStaticsOf(cls: AnyFunction, site: CodeSite): PrivateField[] {
  const fields = privateMembersAt(site).filter(({ isStatic, kind }) => isStatic && kind === "field");
  if (fields.length === 0) return [];
  const listed = viewPrivates(cls);
  return fields.map(({ name }) => {
    const field = listed.find((candidate) => candidate.name === `#${name}`);
    if (field === undefined) {
      throw new ShippingError(
        `its private static field #${name} is not initialised yet`,
        [`#${name}`],
        "call the routine after the class has been defined",
      );
    }
    return field;
  });
}

/** A method that uses `super` or a private name travels as a member of its class. */
function takeAsMember(fn: AnyFunction, site: CodeSite, source: CaptureSource, policy: ShippingPolicy): Dismantled {
  const place = memberPlaceOf(fn, site, source().scopes, policy);
  if (place === undefined) {
    if (!usesOwnSuper(site)) throw privateRefusal(fn, site);
    throw new ShippingError(
      `${titleOfFunction(fn)} uses \`super\`, and the class that it belongs to cannot be found`,
      [],
      "capture the instance or the class and call the method on it",
    );
  }
  const { owner, isStatic, key, role } = place;
  const isNamed = typeof key === "string";
  const head = { kind: "member", isStatic, role, ...(isNamed ? { key } : {}) };
  return { head, dependencies: [], early: isNamed ? [owner] : [owner, key], parts: [], labels: [] };
}

function superOf(fn: AnyFunction, site: CodeSite, policy: ShippingPolicy): object | null {
  const home = homeOf(fn, site, policy);
  if (home !== undefined) return Reflect.getPrototypeOf(home);
  throw new ShippingError(
    `${titleOfFunction(fn)} uses \`super\`, and the object that it belongs to cannot be found`,
    [],
    "capture that object and call the method on it",
  );
}

const receivers = new WeakMap<object, { readonly value: unknown }>();

/**
 * The `this` of an arrow function. The engine does not list it among the captured variables, but shows it when
 * execution stops in the function.
 */
function outerThis(fn: AnyFunction, site: CodeSite): unknown {
  const found = receivers.get(fn) ?? outerReceiver(fn, site);
  if (found !== undefined) {
    receivers.set(fn, found);
    return found.value;
  }
  throw new ShippingError(
    isDebuggerAttached()
      ? "uses `this` of the code around it, which cannot be read while a debugger is attached"
      : "uses `this` of the code around it, which the engine does not show here",
    [],
    "write `const self = this` outside of the function and use `self` in it",
  );
}

function refuseWhatCannotTravel(site: CodeSite): void {
  for (const { type } of site.outward) {
    if (type !== "super" && type !== "new.target") continue;
    throw new ShippingError(
      `is an arrow function that uses \`${type}\` of the function around it`,
      [],
      type === "super" ? "call a method that uses `super` instead" : "keep `new.target` in a variable and use that",
    );
  }
  if (site.contextual.some(({ type }) => type === "eval")) {
    throw new ShippingError(
      "uses direct eval, which may use any variable",
      [],
      "use `(0, eval)(text)`, or remove the eval",
    );
  }
  for (let scope = site.unit.scope; ; ) {
    if (scope.kind === "with") {
      throw new ShippingError("is defined inside `with`", [], "move the function out of the `with` statement");
    }
    if (scope.parent === undefined) break;
    scope = scope.parent;
  }
}

const emitted = new WeakMap<CodeSite, Map<string, Dependency>>();

function codeDependency(site: CodeSite, plan: EmissionPlan): Dependency {
  const key = JSON.stringify([plan.slots, plan.cells, plan.capturesThis]);
  const known = emitted.get(site) ?? new Map<string, Dependency>();
  emitted.set(site, known);
  const dependency = known.get(key) ?? dependencyOf(toPlain(emitCode(site, plan)));
  known.set(key, dependency);
  return dependency;
}
