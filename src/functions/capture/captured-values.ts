import { types } from "node:util";
import { isReassigned, isUsedInWith, reassignmentOf } from "../emit/index.ts";
import type { CodeSite } from "../engine/index.ts";
import { builtinExports, isReplaceableImport, noteImport } from "../modules/index.ts";
import { ShippingError, type ShippingPolicy } from "../shipment/index.ts";
import type { Binding } from "../syntax/index.ts";
import { cellOf, globalCell } from "./binding-cells.ts";
import type { CapturedVariable } from "./captured-variables.ts";
import { copyOfModule, isModuleObject, moduleObjectOf } from "./module-copies.ts";
import { Borrowed, referenceOf } from "./references.ts";

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
      throw new ShippingError(
        `"${name}" is assigned to, and used inside of \`with\``,
        [name],
        "remove the `with` statement",
      );
    }
    return { name, kind: "cell", value: cellOf(fn, site, variable), isFixed: false };
  }
  const isFixed = isSettled(site, binding, value);
  if (name === "arguments" && types.isArgumentsObject(value)) {
    return { name, kind: "slot", value: [...Array.prototype.slice.call(value)], isFixed: false };
  }
  if (name === "module" && binding === undefined) {
    return { name, kind: "slot", value: moduleStandIn(value), isFixed: true };
  }
  const specifier = moduleObjectOf(binding);
  if (specifier !== undefined && isModuleObject(value)) {
    return { name, kind: "slot", ...moduleValue(site, variable, specifier, value, policy) };
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
function isSettled(site: CodeSite, binding: Binding | undefined, value: unknown): boolean {
  const imported = binding?.imported;
  if (imported !== undefined) {
    return isImmutable(value) && !isReplaceableImport(site.file.script, imported.source, imported.imported);
  }
  if (binding !== undefined && reassignmentOf(binding, site.file) !== "never") return false;
  // A `var` is undefined until its declaration has run.
  return binding?.kind !== "var" || value !== undefined;
}

/** An imported function or namespace is mostly there to stay; an imported number may be counted up. */
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
): Pick<CapturedValue, "value" | "isFixed"> {
  const { script } = site.file;
  const isNamespace = types.isModuleNamespaceObject(value);
  if (isNamespace) noteImport(value, specifier, "*", script.url);
  if (referenceOf(value, policy) !== undefined) return { value: Borrowed.of(value), isFixed: true };
  const copy = copyOfModule(value, free, specifier, script.url);
  // Anyone may assign to a member of an object that stands for a module.
  const isFixed = isNamespace && !Object.keys(copy).some((member) => isReplaceableImport(script, specifier, member));
  return { value: copy, isFixed };
}
