import { type CodeSite, sourceFileOf } from "../engine/index.ts";
import type { LiveVariable } from "../modules/index.ts";
import { Cell } from "../shipment/index.ts";
import type { Scope } from "../syntax/index.ts";
import { isCapturedOncePerActivation } from "./activation-facts.ts";
import { Activation, ActivationIndex, type Captor } from "./activation-index.ts";
import type { CapturedVariable } from "./captured-variables.ts";

const activationsOf = new WeakMap<object, Map<string, Activation>>();
const indexes = new Map<string, ActivationIndex>();
const permanent = new Map<string, Cell>();

/** The cell that stands for a user's own global variable. */
export function globalCell(name: string, value: unknown): Cell {
  return cellIn(permanent, `global:${name}`, value);
}

/** The cell that stands for a variable of a module, which is evaluated once. */
export function moduleCell({ script, local }: LiveVariable, value: unknown): Cell {
  const { program } = sourceFileOf(script.id) ?? {};
  return cellIn(permanent, `${script.id}:${program?.start}:${program?.end}:top:${local}`, value);
}

function cellIn(cells: Map<string, Cell>, key: string, value: unknown): Cell {
  const cell = cells.get(key) ?? new Cell();
  cells.set(key, cell);
  cell.v = value;
  return cell;
}

/**
 * The cell of a captured variable, holding its value as it is now. Functions that captured the same binding get the
 * same cell; those that captured the same variable of another activation get another one, also when all values are
 * equal. Throws `ShippingError` when the engine does not tell which one it is.
 */
export function cellOf(fn: object, site: CodeSite, variable: CapturedVariable): Cell {
  const { free, value, scopes, name } = variable;
  const { binding } = free;
  if (binding === undefined) return globalCell(name, value);
  const { scope } = binding;
  const key = keyOf(site, scope);
  // A module is evaluated once.
  if (scope.kind === "top" && site.file.script.isModule) return cellIn(permanent, `${key}:${name}`, value);
  const own = activationsOf.get(fn) ?? new Map<string, Activation>();
  activationsOf.set(fn, own);
  // A variable that only one function captures is not shared. Other variables of its scope may be.
  const isAlone = isCapturedOncePerActivation(site, binding);
  const ownKey = isAlone ? `${key}:${name}` : key;
  const known = own.get(ownKey);
  const activation = isAlone ? (known ?? new Activation()) : find(key, { fn, site, binding, scopes }, known);
  own.set(ownKey, activation);
  return cellIn(activation.cells, name, value);
}

function find(key: string, captor: Captor, known: Activation | undefined): Activation {
  const index = indexes.get(key) ?? new ActivationIndex();
  indexes.set(key, index);
  return index.find(captor, known);
}

function keyOf(site: CodeSite, { node, kind }: Scope): string {
  return `${site.file.script.id}:${node.start}:${node.end}:${kind}`;
}
