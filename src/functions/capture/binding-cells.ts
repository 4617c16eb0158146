import { type CodeSite, sourceFileOf } from "../engine/index.ts";
import type { LiveVariable } from "../modules/index.ts";
import { Cell } from "../shipment/index.ts";
import type { Binding } from "../syntax/index.ts";
import { ActivationIndex, type Captor } from "./activation-index.ts";
import type { CapturedVariable } from "./captured-variables.ts";

const cellsOf = new WeakMap<object, Map<string, Cell>>();
const indexes = new Map<string, ActivationIndex<Cell>>();
const permanent = new Map<string, Cell>();

/** The cell that stands for a user's own global variable. */
export function globalCell(name: string, value: unknown): Cell {
  return permanentCell(`global:${name}`, value);
}

/** The cell that stands for a variable of a module, which is evaluated once. */
export function moduleCell({ script, local }: LiveVariable, value: unknown): Cell {
  const { program } = sourceFileOf(script.id) ?? {};
  return permanentCell(`${script.id}:${program?.start}:${program?.end}:top:${local}`, value);
}

function permanentCell(key: string, value: unknown): Cell {
  const cell = permanent.get(key) ?? new Cell();
  permanent.set(key, cell);
  cell.v = value;
  return cell;
}

/**
 * The cell of a captured variable, holding its value as it is now. Functions that captured the same binding get the
 * same cell; those that captured the same variable of another activation get another one, also when all values are
 * equal. Throws `ShippingError` when it cannot be told which it is.
 */
export function cellOf(fn: object, site: CodeSite, variable: CapturedVariable): Cell {
  const { free, value, scopes } = variable;
  const { binding } = free;
  if (binding === undefined) return globalCell(variable.name, value);
  const key = keyOf(site, binding);
  // A module is evaluated once.
  if (binding.scope.kind === "top" && site.file.script.isModule) return permanentCell(key, value);
  const own = cellsOf.get(fn) ?? new Map<string, Cell>();
  cellsOf.set(fn, own);
  const cell = own.get(key) ?? find(key, { fn, site, binding, value, scopes });
  own.set(key, cell);
  cell.v = value;
  return cell;
}

function find(key: string, captor: Captor): Cell {
  const index = indexes.get(key) ?? new ActivationIndex(() => new Cell());
  indexes.set(key, index);
  return index.find(captor);
}

function keyOf(site: CodeSite, { scope, name }: Binding): string {
  return `${site.file.script.id}:${scope.node.start}:${scope.node.end}:${scope.kind}:${name}`;
}
