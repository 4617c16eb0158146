import { createRequire } from "node:module";
import { dirname } from "node:path";
import { types } from "node:util";
import { type CodeSite, siteAt } from "./code-site.ts";
import { describeClass, describePrivateStatics, pristineBody } from "./describe-class.ts";
import { describeFunction } from "./describe-function.ts";
import { noteHolder } from "./holders.ts";
import { identify, identityOf, processId } from "./identity.ts";
import { type FunctionView, viewFunction } from "./inspector-session.ts";
import { exportOf } from "./module-references.ts";
import { PartsList } from "./parts-list.ts";
import { ancestorsOf, byModule, byName, importReference, isAllowed, universalReference } from "./references.ts";
import { type RevivedSource, revivedSource } from "./revived.ts";
import { toRootRelative } from "./root.ts";
import { type Script, scriptOf } from "./scripts.ts";
import { type Dismantled, ShippingError } from "./shipment.ts";
import type { ShippingPolicy } from "./shipping-policy.ts";
import { type AnyFunction, isClass, isFunction } from "./source-text.ts";
import { takeByValue } from "./take-by-value.ts";

const AUTO: ShippingPolicy = {};

/**
 * Takes a function or class apart so that it can travel: by reference when the receiver can have the same one by
 * itself, by value otherwise. Throws `ShippingError` when it can travel neither way.
 */
export function dismantle(fn: object, policy: ShippingPolicy = AUTO): Dismantled {
  if (!isFunction(fn)) {
    throw new ShippingError(`${typeof fn} is not a function`, [], "pass a function or a class");
  }
  if (types.isProxy(fn)) {
    throw new ShippingError("is a Proxy, which does not show what it wraps", [], "capture the target instead");
  }
  const universal = universalReference(fn);
  if (universal !== undefined) return universal;
  const id = identityOf(fn);
  if (id !== undefined && policy.destination !== undefined && policy.destination !== processId) {
    if (id.startsWith(policy.destination)) return byName({ kind: "returning", id });
  }
  const imported = policy.ship === "value" ? undefined : importReference(fn, policy);
  if (imported !== undefined) return byModule(fn, imported, ancestry(fn));
  const revived = revivedSource(fn);
  if (revived !== undefined) return takeRevived(fn, revived);
  const directory = requireDirectory(fn);
  if (directory !== undefined) return byName({ kind: "require", directory });
  const view = viewFunction(fn);
  if (view.bound !== undefined) return takeBound(fn, view.bound);
  const { site, script } = locate(fn, view);
  const exported = policy.ship === "value" ? undefined : exportOf(fn, script, site.unit, view.scopes);
  if (exported !== undefined && isAllowed(exported, policy)) return byModule(fn, exported, ancestry(fn));
  if (policy.ship === "reference") {
    throw new ShippingError(
      `"${fn.name}" is not an export of a module that a worker can load`,
      [],
      'export it from a module other than the entry file, or leave out `ship: "reference"`',
    );
  }
  return takeByValue(fn, site, view, policy);
}

function ancestry(fn: AnyFunction): { readonly [key: string]: string | string[] } {
  return isClass(fn) ? { name: fn.name, ancestors: ancestorsOf(fn) } : {};
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

/** The directory from which a `require` function looks for modules, relative to the root if possible. */
function requireDirectory(fn: AnyFunction): string | undefined {
  const resolve: unknown = Reflect.getOwnPropertyDescriptor(fn, "resolve")?.value;
  const cache: unknown = Reflect.getOwnPropertyDescriptor(fn, "cache")?.value;
  if (typeof resolve !== "function" || cache !== createRequire(import.meta.url).cache) return undefined;
  const lookup: unknown = Reflect.get(resolve, "paths");
  const paths: unknown = typeof lookup === "function" ? Reflect.apply(lookup, resolve, ["package"]) : undefined;
  const [first] = Array.isArray(paths) ? paths : [];
  if (typeof first !== "string") return undefined;
  const directory = dirname(first);
  return toRootRelative(directory) ?? directory;
}

function takeBound(fn: AnyFunction, bound: NonNullable<FunctionView["bound"]>): Dismantled {
  if (typeof bound.self === "object" && bound.self !== null) noteHolder(bound.self);
  const parts = new PartsList();
  parts.add(bound.target, "bound function");
  parts.add(bound.self, "bound this");
  for (const [index, value] of bound.args.entries()) parts.add(value, `bound argument ${index}`);
  const captured = parts.values.length;
  const head = { kind: "bound", id: identify(fn), captured, ...describeFunction(fn, parts) };
  return { head, dependencies: [], early: [], parts: parts.values, labels: parts.labels };
}

/** What was revived here travels on with the code it came with and the values it holds now. */
function takeRevived(fn: AnyFunction, revived: RevivedSource): Dismantled {
  const { code, early, pristine, kind, labels } = revived;
  const parts = new PartsList();
  for (const [index, value] of revived.captured().entries()) parts.add(value, labels[index] ?? "");
  const common = {
    kind,
    id: identify(fn),
    captured: parts.values.length,
    ...(code === undefined ? {} : { code: code.hash }),
  };
  const home = revived.home === undefined ? {} : { home: parts.add(revived.home(), "super") };
  const head =
    pristine === undefined
      ? { ...common, ...home, ...describeFunction(fn, parts) }
      : {
          ...common,
          hasHeritage: revived.hasHeritage,
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
