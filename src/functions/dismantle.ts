import { types } from "node:util";
import { type CapturedVariable, captureVariables } from "./captured-variables.ts";
import { type CodeSite, siteAt } from "./code-site.ts";
import { toPlain } from "./code-data.ts";
import { dependencyOf } from "./content-hash.ts";
import { bodyAt, describeClass, definitionValues, pristineBody } from "./describe-class.ts";
import { describeFunction } from "./describe-function.ts";
import { type EmissionPlan, emitCode } from "./emit-code.ts";
import { identify, identityOf, processId } from "./identity.ts";
import { type FunctionView, viewFunction } from "./inspector-session.ts";
import { exportOf } from "./module-references.ts";
import { PartsList } from "./parts-list.ts";
import { byModule, byName, importReference, universalReference } from "./references.ts";
import { type RevivedSource, revivedSource } from "./revived.ts";
import { type Script, scriptOf } from "./scripts.ts";
import { type Dependency, type Dismantled, ShippingError } from "./shipment.ts";
import type { ShippingPolicy } from "./shipping-policy.ts";

/** Any function or class, as far as taking it apart is concerned. */
export type AnyFunction = (...args: never[]) => unknown;

const AUTO: ShippingPolicy = {};

function isFunction(value: object): value is AnyFunction {
  return typeof value === "function";
}

/** True for what a `class` makes. */
export function isClass(fn: object): boolean {
  return /^class\b/.test(sourceTextOf(fn));
}

/** What `toString()` shows, whatever the function itself says. */
export function sourceTextOf(fn: object): string {
  return isFunction(fn) ? Function.prototype.toString.call(fn) : "";
}

/**
 * Takes a function or class apart so that it can travel: by reference when the receiver can have the same one by
 * itself, by value otherwise. Throws `ShippingError` when it can travel neither way.
 */
export function dismantle(fn: object, policy: ShippingPolicy = AUTO): Dismantled {
  if (!isFunction(fn)) {
    throw new ShippingError(`${typeof fn} is not a function`, [], "pass a function or a class");
  }
  const universal = universalReference(fn);
  if (universal !== undefined) return universal;
  if (types.isProxy(fn)) {
    throw new ShippingError("it is a Proxy, and a Proxy does not show what it wraps", [], "capture the target instead");
  }
  const id = identityOf(fn);
  if (id !== undefined && policy.destination !== undefined && policy.destination !== processId) {
    if (id.startsWith(policy.destination)) return byName({ kind: "returning", id, isClass: isClass(fn) });
  }
  const imported = policy.ship === "value" ? undefined : importReference(fn, policy);
  if (imported !== undefined) return byModule(fn, imported, ancestry(fn));
  const revived = revivedSource(fn);
  if (revived !== undefined) return shipAgain(fn, revived);
  const view = viewFunction(fn);
  if (view.bound !== undefined) return dismantleBound(fn, view);
  const { site, script } = locate(fn, view);
  const exported = policy.ship === "value" ? undefined : exportOf(fn, script, site.unit, view.scopes);
  if (exported !== undefined && policy.unavailable?.has(exported.module.hash) !== true) {
    return byModule(fn, exported, ancestry(fn));
  }
  if (policy.ship === "reference") {
    throw new ShippingError(
      `"${fn.name}" is not an export of a module that a worker can load`,
      [],
      "export it from a module other than the entry file, or leave out ship: \"reference\"",
    );
  }
  return dismantleByValue(fn, site, view);
}

function locate(fn: AnyFunction, view: FunctionView): { site: CodeSite; script: Script } {
  const script = view.location === undefined ? undefined : scriptOf(view.location.scriptId);
  if (view.location === undefined || script === undefined) {
    throw new ShippingError(
      `"${fn.name}" is native code and not an export of a module`,
      [],
      "make it inside of the routine",
    );
  }
  if (script.source === undefined) {
    throw new ShippingError(
      `"${fn.name}" was made inside of Node (${script.url}) and is not one of its exports`,
      [],
      "make it inside of the routine, such as by calling util.promisify there",
    );
  }
  const site = siteAt(view.location, isClass(fn));
  if (site === undefined) {
    throw new ShippingError(`the source of "${fn.name}" was not found`, [], "define it in a file");
  }
  return { site, script };
}

/** For a class that the receiver does not know: what it extends, nearest first, by names that every process knows. */
function ancestry(fn: AnyFunction): { name: string; ancestors: string[] } {
  const ancestors: string[] = [];
  for (let parent = Reflect.getPrototypeOf(fn); parent !== null; parent = Reflect.getPrototypeOf(parent)) {
    const head = universalReference(parent)?.head;
    if (typeof head === "object" && head !== null && "path" in head && typeof head.path === "string") {
      if (head.path !== "Function.prototype") ancestors.push(head.path);
    }
  }
  return { name: fn.name, ancestors };
}

function dismantleBound(fn: AnyFunction, { bound }: FunctionView): Dismantled {
  const parts = new PartsList();
  parts.add(bound?.target, "bound function");
  parts.add(bound?.self, "bound this");
  for (const [index, value] of (bound?.args ?? []).entries()) parts.add(value, `bound argument ${index}`);
  const captured = parts.values.length;
  const head = { kind: "bound", id: identify(fn), captured, ...describeFunction(fn, parts) };
  return { head, dependencies: [], early: [], parts: parts.values, labels: parts.labels };
}

function dismantleByValue(fn: AnyFunction, site: CodeSite, view: FunctionView): Dismantled {
  refuseWhatCannotTravel(site);
  const variables = captureVariables(site, view.scopes);
  const plan = planFor(variables);
  const code = codeDependency(site, plan);
  const parts = new PartsList();
  for (const name of plan.slots) parts.add(variables.find((variable) => variable.name === name)?.value, name);
  return assembleShipment(fn, site, code, parts);
}

function planFor(variables: readonly CapturedVariable[]): EmissionPlan {
  return { slots: variables.map(({ name }) => name), cells: [], capturesThis: false };
}

function refuseWhatCannotTravel(site: CodeSite): void {
  for (const { type, scope } of site.outward) {
    if (type === "this" && scope.receiverScope().kind === "top" && site.file.script.isModule) continue;
    throw new ShippingError(`uses \`${type}\` of the code around it`, [], "say `const self = this` and use `self`");
  }
  if (site.contextual.some(({ type }) => type === "eval")) {
    throw new ShippingError("uses direct eval", [], "call `(0, eval)(text)`, or do without");
  }
}

const emitted = new WeakMap<CodeSite, Map<string, Dependency>>();

function codeDependency(site: CodeSite, plan: EmissionPlan): Dependency {
  const key = JSON.stringify([plan.slots, plan.cells, plan.capturesThis]);
  const known = emitted.get(site) ?? new Map<string, Dependency>();
  emitted.set(site, known);
  const existing = known.get(key);
  if (existing !== undefined) return existing;
  const dependency = dependencyOf(toPlain(emitCode(site, plan)));
  known.set(key, dependency);
  return dependency;
}

function assembleShipment(fn: AnyFunction, site: CodeSite, code: Dependency, parts: PartsList): Dismantled {
  const common = { id: identify(fn), code: code.hash, captured: parts.values.length };
  if (site.form !== "class") {
    const head = { kind: "function", ...common, ...describeFunction(fn, parts) };
    return { head, dependencies: [code], early: [], parts: parts.values, labels: parts.labels };
  }
  const early = definitionValues(fn, site);
  const { node } = site.unit;
  const head = {
    kind: "class",
    ...common,
    hasHeritage: "superClass" in node && node.superClass != null,
    ancestors: ancestry(fn).ancestors,
    ...describeClass(fn, bodyAt(site, early), parts),
  };
  return { head, dependencies: [code], early, parts: parts.values, labels: parts.labels };
}

/** What was revived here travels on with the code it came with and the values it holds now. */
function shipAgain(fn: AnyFunction, revived: RevivedSource): Dismantled {
  const parts = new PartsList();
  for (const [index, value] of revived.captured().entries()) parts.add(value, revived.labels[index] ?? "");
  const common = { id: identify(fn), captured: parts.values.length };
  const { code, early, pristine, kind } = revived;
  const dependencies = code === undefined ? [] : [code];
  const located = code === undefined ? {} : { code: code.hash };
  const head =
    pristine === undefined
      ? { kind, ...common, ...located, ...describeFunction(fn, parts) }
      : {
          kind,
          ...common,
          ...located,
          hasHeritage: revived.facts.hasHeritage,
          ancestors: ancestry(fn).ancestors,
          ...describeClass(fn, pristineBody(pristine), parts),
        };
  return { head, dependencies, early, parts: parts.values, labels: parts.labels };
}
