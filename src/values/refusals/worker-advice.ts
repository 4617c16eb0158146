import { types } from "node:util";
import { type FunctionPort, makingOf, platformName } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";
import { traveller } from "../traveller.ts";
import type { ValueRefusal } from "../value-refusal.ts";

/** A step on the path to a refused value. */
interface PathStep {
  readonly value: unknown;
  readonly from: PathStep | undefined;
  readonly label: string;
}

/** Refusals of values that could be made where they are used. */
const MAKES = /\bmake (?:it|the instance|the object)\b/i;

/**
 * Advice to let each worker make a refused value: one that a function captured, or that is part of an argument. Empty
 * where that does not help.
 *
 * @param found - the last step of the path to the value; undefined when there is none
 * @param isArgument - whether the first step of the path is an argument of a call
 */
export function workerAdvice(
  refusal: ValueRefusal,
  found: PathStep | undefined,
  port: FunctionPort,
  isArgument: boolean,
): string {
  if (isOfRuntime(refusal.culprit, port)) return "";
  const captured = capturedAdvice(found);
  return captured === "" && isArgument ? argumentAdvice(refusal, found, port) : captured;
}

/** Advice for a captured variable with a known initializer: each worker can make its own value in the same way. */
function capturedAdvice(found: PathStep | undefined): string {
  for (let step = found; step?.from !== undefined; step = step.from) {
    const fn = step.from.value;
    const making = typeof fn === "function" ? makingOf(fn, step.label) : undefined;
    if (making === undefined) continue;
    const origin =
      making.source === undefined ? "Or have" : `"${step.label}" comes from the package "${making.source}": have`;
    const [create, use] = making.isAwaited ? ["async () =>", "await "] : ["() =>", ""];
    return (
      ` ${origin} each worker make it once: const ${step.label} = perWorker(${create} ${asResult(making.expression)}), with ` +
      `${use}${step.label}.get() where it is used.`
    );
  }
  return "";
}

/** An expression as the result of an arrow function: an object literal would be read as the body. */
function asResult(expression: string): string {
  return expression.startsWith("{") ? `(${expression})` : expression;
}

/** Advice for an argument, or a part of one: nobody knows how it was made, at most its class. */
function argumentAdvice({ culprit, fix }: ValueRefusal, found: PathStep | undefined, port: FunctionPort): string {
  // Packages make a Proxy for the user, who does not have the object behind it.
  if ((!MAKES.test(fix) && !types.isProxy(culprit)) || fix.includes("perWorker")) return "";
  const name = classOnPath(found, port);
  const expression = name === undefined ? "..." : `new ${name}(...)`;
  return (
    ` Or have each worker make it once, outside of the routine: const own = perWorker(() => ${expression}), with ` +
    "own.get() in the routine instead of the argument."
  );
}

/** The name of the class that is nearest to the argument, since the user has made an instance of that one. */
function classOnPath(found: PathStep | undefined, port: FunctionPort): string | undefined {
  let name: string | undefined;
  for (let step = found; step?.from !== undefined; step = step.from) {
    // Whatever a function holds was made by other code.
    name = typeof step.value === "function" ? undefined : (classNameOf(step.value, port) ?? name);
  }
  return name;
}

/** The name by which a program knows the class of an object; undefined for a class of the platform. */
function classNameOf(value: unknown, port: FunctionPort): string | undefined {
  const maker = typeof value === "object" && value !== null && !types.isProxy(value) ? makerOf(value) : undefined;
  if (maker === undefined || platformName(maker) !== undefined) return undefined;
  try {
    const { head } = port.dismantle(maker);
    const path = typeof head === "object" && head !== null && "path" in head ? head.path : undefined;
    const exported = Array.isArray(path) ? path.at(-1) : undefined;
    const name = typeof exported === "string" && exported !== "default" ? exported : maker.name;
    return /^\p{Lu}[\p{ID_Continue}$]+$/u.test(name) ? name : undefined;
  } catch {
    // Not a class that a program can use.
    return undefined;
  }
}

/** True for an object of the runtime: making it in the worker would not help. */
function isOfRuntime(culprit: WeakKey, port: FunctionPort): boolean {
  if (typeof culprit !== "object" || types.isProxy(culprit)) return false;
  if (traveller in culprit) return true;
  const constructor = makerOf(culprit);
  const head = constructor === undefined ? undefined : port.referenceOf(constructor)?.head;
  return typeof head === "object" && head !== null && "kind" in head && head.kind === "runtime";
}

function makerOf(value: object): { readonly name: string } | undefined {
  const prototype: object | null = Object.getPrototypeOf(value);
  const constructor = prototype === null ? undefined : ownProperty(prototype, "constructor")?.value;
  return typeof constructor === "function" && !types.isProxy(constructor) ? constructor : undefined;
}
