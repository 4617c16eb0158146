import { canPauseIn, parameterCountOf } from "./binding-cells.ts";
import { type CapturedValue, captureValue } from "./captured-values.ts";
import { captureVariables } from "./captured-variables.ts";
import { homeOf, memberPlaceOf, needsHome, noteMembers, usesOwnSuper } from "./class-members.ts";
import { toPlain } from "./code-data.ts";
import type { CodeSite } from "./code-site.ts";
import { dependencyOf } from "./content-hash.ts";
import { bodyAt, definedBy, definitionValues, describeClass, describePrivateStatics } from "./describe-class.ts";
import { describeFunction } from "./describe-function.ts";
import { type EmissionPlan, emitCode } from "./emit-code.ts";
import { identify } from "./identity.ts";
import { type FunctionView, type PrivateField, viewPrivates } from "./inspector-session.ts";
import { PartsList } from "./parts-list.ts";
import { isDebuggerAttached, pauseIn } from "./paused-frame.ts";
import { privateMembersAt } from "./private-members.ts";
import { ancestorsOf } from "./references.ts";
import { type Dependency, type Dismantled, type PlainData, ShippingError } from "./shipment.ts";
import type { ShippingPolicy } from "./shipping-policy.ts";
import type { AnyFunction } from "./source-text.ts";

/** Takes a function or class apart into its code and what it captured. Throws `ShippingError` when it cannot travel. */
export function takeByValue(fn: AnyFunction, site: CodeSite, view: FunctionView, policy: ShippingPolicy): Dismantled {
  refuseWhatCannotTravel(site);
  if (needsHome(site) && site.unit.literal === undefined) return takeAsMember(fn, site, view, policy);
  const captured = captureVariables(fn, site, view.scopes).map((variable) => captureValue(fn, site, variable, policy));
  const receiver = usesOuterThis(site) ? { value: outerThis(fn, site) } : undefined;
  const slots = captured.filter(({ kind }) => kind === "slot");
  const cells = captured.filter(({ kind }) => kind === "cell");
  const plan = { slots: slots.map(nameOf), cells: cells.map(nameOf), capturesThis: receiver !== undefined };
  const code = codeDependency(site, plan);
  const parts = new PartsList();
  for (const { name, value } of [...slots, ...cells]) parts.add(value, name);
  if (receiver !== undefined) parts.add(receiver.value, "this");
  const common = { id: identify(fn), code: code.hash, captured: parts.values.length };
  if (site.form === "class") return finishClass(fn, site, code, common, parts);
  const home = usesOwnSuper(site) ? { home: parts.add(superOf(fn, site, policy), "super") } : {};
  const head = { kind: "function", ...common, ...home, ...describeFunction(fn, parts) };
  return { head, dependencies: [code], early: [], parts: parts.values, labels: parts.labels };
}

function nameOf({ name }: CapturedValue): string {
  return name;
}

function finishClass(
  cls: AnyFunction,
  site: CodeSite,
  code: Dependency,
  common: { readonly [key: string]: PlainData },
  parts: PartsList,
): Dismantled {
  const early = definitionValues(cls, site);
  const { node } = site.unit;
  const body = bodyAt(site, early);
  const head = {
    kind: "class",
    ...common,
    hasHeritage: "superClass" in node && node.superClass != null,
    ancestors: ancestorsOf(cls),
    ...describeClass(cls, body, parts),
    ...describePrivateStatics(privateStaticsOf(cls, site), parts),
  };
  for (const isStatic of [true, false]) noteMembers(cls, isStatic, definedBy(cls, body, isStatic));
  return { head, dependencies: [code], early, parts: parts.values, labels: parts.labels };
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
        "ship it later",
      );
    }
    return field;
  });
}

/** A method that says `super` or a private name travels as a member of its class. */
function takeAsMember(fn: AnyFunction, site: CodeSite, view: FunctionView, policy: ShippingPolicy): Dismantled {
  const place = memberPlaceOf(fn, site, view.scopes, policy);
  if (place === undefined) {
    const name = site.outward.find(({ type }) => type === "private")?.name;
    throw new ShippingError(
      name === undefined
        ? `"${fn.name}" uses \`super\`, and the class or object that it belongs to is not within reach`
        : `"${fn.name}" uses the private name #${name} outside of a method of its class`,
      [],
      "capture the instance or the class and call the method on it",
    );
  }
  const { owner, isStatic, key, slot } = place;
  const isNamed = typeof key === "string";
  const head = { kind: "member", isStatic, slot, ...(isNamed ? { key } : {}) };
  return { head, dependencies: [], early: isNamed ? [owner] : [owner, key], parts: [], labels: [] };
}

function superOf(fn: AnyFunction, site: CodeSite, policy: ShippingPolicy): object | null {
  const home = homeOf(fn, site, policy);
  if (home !== undefined) return Reflect.getPrototypeOf(home);
  throw new ShippingError(
    `"${fn.name}" uses \`super\`, and the object that it belongs to is not within reach`,
    [],
    "capture that object and call the method on it",
  );
}

/** True for an arrow function that uses the `this` around it, and there is one. */
function usesOuterThis(site: CodeSite): boolean {
  return site.outward.some(({ type, scope }) => {
    if (type !== "this") return false;
    return scope.receiverScope().kind !== "top" || !site.file.script.isModule;
  });
}

/** The engine does not list it among the captured variables, but shows it to code that stops in the function. */
function outerThis(fn: AnyFunction, site: CodeSite): unknown {
  const found = canPauseIn(site)
    ? pauseIn(fn, parameterCountOf(site), (frame) => ({ value: frame.receiver() }))
    : undefined;
  if (found !== undefined) return found.value;
  throw new ShippingError(
    isDebuggerAttached()
      ? "uses the lexical `this` of the code around it, which cannot be read while a debugger is attached"
      : "uses the lexical `this` of the code around it, which the engine does not show here",
    [],
    "say `const self = this` outside of the function and use `self` in it",
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
    throw new ShippingError("uses direct eval, which may use any variable", [], "use `(0, eval)(text)`, or do without");
  }
  for (let scope = site.unit.scope; ; ) {
    if (scope.kind === "with") {
      throw new ShippingError("is defined inside of `with`", [], "do without `with`");
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
