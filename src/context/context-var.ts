import { checkFunction, checkOptions, describeValue, must } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { currentCallContext, extendCallContext } from "../routine/index.ts";
import { registerTraveller, traveller } from "../values/index.ts";
import { declareOnce, packageOf, placeOfCall } from "./declaration.ts";

/** How a context variable is made. */
export interface ContextVarOptions<T> {
  /** The value that `get` returns when the variable is not set. Default: none, then `get` throws. */
  readonly default?: T;
  /** Keeps variables of the same name apart. Default: the package that declares the variable. */
  readonly namespace?: string;
}

const CHECKS = {
  default: must.anything,
  namespace: must.text,
};

/**
 * A variable that follows the flow of calls: the caller sets it for a function, and the tasks that this calls
 * see it, as do their own calls. As with any asynchronous context, nothing flows back. A name belongs to one declaration in each
 * namespace; evaluating that declaration again gives the same variable.
 */
export class ContextVar<T> {
  readonly name: string;
  readonly namespace: string;
  /** @internal Holds the default, if there is one. */
  readonly fallback: readonly [] | readonly [T];

  /**
   * Throws `InvalidArgument` when the name is empty or an option is wrong, and when the name is declared at another
   * place in the same namespace.
   */
  constructor(name: string, options: ContextVarOptions<T> = {}) {
    if (typeof name !== "string" || name === "") {
      throw new InvalidArgument(`a ContextVar needs a name that is not empty, not ${describeValue(name)}`);
    }
    checkOptions(options, CHECKS, "new ContextVar()");
    const place = placeOfCall(new.target);
    this.name = name;
    this.namespace = options.namespace ?? (place === undefined ? "" : packageOf(place.file));
    this.fallback = "default" in options ? [options.default as T] : [];
    if (place !== undefined) declareOnce(keyOf(this), place, () => describe(this));
  }

  /** The value in force, else the default. Throws `InvalidArgument` when there is neither. */
  get(): T {
    const variables = currentCallContext()?.variables;
    const key = keyOf(this);
    if (variables?.has(key) === true) return variables.get(key) as T;
    if (this.fallback.length === 1) return this.fallback[0];
    throw new InvalidArgument(
      `the context variable "${this.name}" has no value here and no default: set one with run(value, fn), ` +
        "or give the constructor { default }",
    );
  }

  /**
   * Runs `fn` with the variable set to `value`, for `fn` and for everything that it calls. Throws `InvalidArgument` if
   * `fn` is not a function.
   */
  run<R>(value: T, fn: () => R): R {
    checkFunction(fn, "run() of a ContextVar", "a value and a function to run with it");
    const variables = new Map(currentCallContext()?.variables);
    variables.set(keyOf(this), value);
    return extendCallContext({ variables }, fn);
  }

  /** @internal */
  get [traveller](): string {
    return "context-var";
  }
}

function keyOf({ name, namespace }: Pick<ContextVar<unknown>, "name" | "namespace">): string {
  return `${namespace}\u0000${name}`;
}

function describe({ name, namespace }: Pick<ContextVar<unknown>, "name" | "namespace">): string {
  return `the context variable "${name}"${namespace === "" ? "" : ` of namespace "${namespace}"`}`;
}

registerTraveller("context-var", {
  take: (value) => {
    const { name, namespace, fallback } = value as ContextVar<unknown>;
    return [name, namespace, fallback];
  },
  make: () => {
    const value: object = Object.create(ContextVar.prototype);
    return {
      value,
      complete: ([name, namespace, fallback]) => Object.assign(value, { name, namespace, fallback }),
    };
  },
});
