import { types } from "node:util";
import { cellOf, globalCell } from "./binding-cells.ts";
import { builtinExports } from "./builtin-modules.ts";
import type { CapturedVariable } from "./captured-variables.ts";
import type { CodeSite } from "./code-site.ts";
import { isReassigned, isUsedInWith } from "./emission-plan.ts";
import { copyOfModule, isModuleObject, moduleObjectOf } from "./module-copies.ts";
import { noteImport } from "./module-references.ts";
import { Borrowed, referenceOf } from "./references.ts";
import type { Binding } from "./scope.ts";
import { ShippingError } from "./shipment.ts";
import type { ShippingPolicy } from "./shipping-policy.ts";

/** A captured variable, and what stands for it on its way. */
export interface CapturedValue {
  readonly name: string;
  /** `cell` for a variable that some code assigns to. */
  readonly kind: "slot" | "cell";
  readonly value: unknown;
  /** True when neither the variable nor what stands for it can be another one later. */
  readonly isFixed: boolean;
}

/** Chooses what travels for a captured variable: a cell, a reference to a module, or the value itself. */
export function captureValue(
  fn: object,
  site: CodeSite,
  variable: CapturedVariable,
  policy: ShippingPolicy,
): CapturedValue {
  const { name, value, free, scope } = variable;
  const { binding } = free;
  if (scope === undefined || (binding === undefined && scope.description === "Script")) {
    return { name, kind: "cell", value: globalCell(name, value), isFixed: false };
  }
  if (binding !== undefined && isReassigned(binding, site.file)) {
    if (isUsedInWith(site, free)) {
      throw new ShippingError(`"${name}" is assigned to, and used inside of \`with\``, [name], "do without `with`");
    }
    return { name, kind: "cell", value: cellOf(fn, site, variable), isFixed: false };
  }
  const isFixed = isSettled(binding, value);
  if (name === "arguments" && types.isArgumentsObject(value)) {
    return { name, kind: "slot", value: [...Array.prototype.slice.call(value)], isFixed: false };
  }
  if (name === "module" && binding === undefined) {
    return { name, kind: "slot", value: moduleStandIn(value), isFixed: true };
  }
  const specifier = moduleObjectOf(binding);
  if (specifier !== undefined && isModuleObject(value)) {
    return { name, kind: "slot", value: moduleValue(site, variable, specifier, value, policy), isFixed: true };
  }
  if (typeof value === "object" && value !== null && referenceOf(value, policy) !== undefined) {
    return { name, kind: "slot", value: Borrowed.of(value), isFixed: true };
  }
  const builtin = builtinExport(binding, value);
  if (builtin !== undefined) return { name, kind: "slot", value: builtin, isFixed: true };
  return { name, kind: "slot", value, isFixed };
}

/** A number or string that was imported from one of Node's modules is the receiver's own there: its pid, its platform. */
function builtinExport(binding: Binding | undefined, value: unknown): Borrowed | undefined {
  const imported = binding?.imported;
  if (imported === undefined || (typeof value === "object" && value !== null) || typeof value === "function") {
    return undefined;
  }
  const module = builtinExports(imported.source);
  return module === undefined ? undefined : Borrowed.exportOf(module, imported.imported);
}

/** False for what may be another value later although nothing assigns to it here. */
function isSettled(binding: Binding | undefined, value: unknown): boolean {
  if (binding?.imported !== undefined) return isImmutable(value);
  // A `var` is undefined until its declaration has run.
  return binding?.kind !== "var" || value !== undefined;
}

/** An imported function or namespace may be taken to stay what it is; an imported number may be counted up. */
function isImmutable(value: unknown): boolean {
  return typeof value === "function" || (typeof value === "object" && types.isModuleNamespaceObject(value));
}

const standIns = new WeakMap<object, object>();

/** Of the `module` of CommonJS only its exports mean something elsewhere. */
function moduleStandIn(module: unknown): unknown {
  if (typeof module !== "object" || module === null) return module;
  const standIn = standIns.get(module) ?? {};
  standIns.set(module, standIn);
  Reflect.set(standIn, "exports", Reflect.get(module, "exports"));
  return standIn;
}

function moduleValue(
  site: CodeSite,
  { free }: CapturedVariable,
  specifier: string,
  value: object,
  policy: ShippingPolicy,
): object {
  const importer = site.file.script.url;
  if (types.isModuleNamespaceObject(value)) noteImport(value, specifier, "*", importer);
  if (referenceOf(value, policy) !== undefined) return Borrowed.of(value);
  return copyOfModule(value, free, specifier, importer);
}
