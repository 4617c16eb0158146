import { types } from "node:util";
import { builtinPlaceOf } from "./builtin-modules.ts";
import { intrinsicPathOf } from "./intrinsics.ts";
import { importedAs, type ModuleReference, noteShipped } from "./module-references.ts";
import { runtimeNameOf } from "./runtime-exports.ts";
import type { Dismantled, PlainData } from "./shipment.ts";
import type { ShippingPolicy } from "./shipping-policy.ts";

/** A shipment that is only a name. */
export function byName(head: PlainData): Dismantled {
  return { head, dependencies: [], early: [], parts: [], labels: [] };
}

/** A shipment that is an export of a module. */
export function byModule(
  value: object,
  reference: ModuleReference,
  facts: { readonly [key: string]: PlainData } = {},
): Dismantled {
  const { module, path } = reference;
  noteShipped(value, reference);
  const head = { kind: "module", module: module.hash, path: [...path], ...facts };
  return { head, dependencies: [module], early: [], parts: [], labels: [] };
}

/** What every process has: an export of the runtime, an intrinsic, a member of one of Node's modules. */
export function universalReference(value: object): Dismantled | undefined {
  const runtime = runtimeNameOf(value);
  if (runtime !== undefined) return byName({ kind: "runtime", name: runtime });
  const intrinsic = intrinsicPathOf(value);
  if (intrinsic !== undefined) return byName({ kind: "intrinsic", path: intrinsic });
  const builtin = builtinPlaceOf(value);
  if (builtin !== undefined) return byName({ kind: "builtin", module: builtin.module, path: [...builtin.path] });
  return undefined;
}

/** The import by which a value is known, unless the receiver cannot load that module. */
export function importReference(value: object, policy: ShippingPolicy): ModuleReference | undefined {
  const reference = importedAs(value);
  if (reference === undefined || policy.unavailable?.has(reference.module.hash) === true) return undefined;
  return reference;
}

/**
 * An object that travels by its name instead of by what it holds: an intrinsic, a namespace or member of one of Node's
 * modules or of a package, an export of the runtime. Undefined for everything else.
 */
export function referenceOf(value: object, policy: ShippingPolicy = {}): Dismantled | undefined {
  const universal = universalReference(value);
  if (universal !== undefined) return universal;
  if (types.isProxy(value)) return undefined;
  const reference = importReference(value, policy);
  if (reference !== undefined && (types.isModuleNamespaceObject(value) || isForeign(value, reference))) {
    return byModule(value, reference);
  }
  return undefined;
}

/** What a package made is its own affair; data of the user's own modules travels as it is now. */
function isForeign(value: object, { module }: ModuleReference): boolean {
  const { data } = module;
  if (typeof data === "object" && data !== null && "content" in data) return hasForeignClass(value);
  return true;
}

/** Its class, or one that it extends, comes from a package or from Node itself: its insides are not ours to copy. */
function hasForeignClass(value: object): boolean {
  for (let prototype = Reflect.getPrototypeOf(value); prototype !== null; ) {
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor === "function" && intrinsicPathOf(constructor) === undefined) {
      if (builtinPlaceOf(constructor) !== undefined) return true;
      const reference = importedAs(constructor);
      const { data } = reference?.module ?? {};
      if (typeof data === "object" && data !== null && !("content" in data)) return true;
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return false;
}
