import {
  adoptLiveVariable,
  type CodeSite,
  captureNumber,
  liveVariables,
  markVariable,
  readVariable,
  type ScopeView,
  UNINITIALISED,
  type VariableAccess,
  viewFunction,
} from "../engine/index.ts";
import { type Cell, ShippingError } from "../shipment/index.ts";
import type { Binding } from "../syntax/index.ts";
import { isFreshInEachActivation } from "./activation-facts.ts";

/** A function that captured a variable. */
export interface Captor {
  readonly fn: object;
  readonly site: CodeSite;
  readonly binding: Binding;
  /** The scope that holds it and those around it, innermost first. */
  readonly scopes: readonly ScopeView[];
}

/** A function that belongs to an activation, and a captured variable of that activation. */
interface Member {
  readonly fn: WeakRef<object>;
  readonly site: CodeSite;
  readonly name: string;
}

/** One activation of the code that declares some variables. Its functions share those variables. */
export class Activation {
  /** The cells of its variables, by name. */
  readonly cells = new Map<string, Cell>();
  /** Set when it turned out to be the same as another one. */
  same: Activation | undefined;
  readonly #members: Member[] = [];
  #live: { readonly name: string; readonly access: VariableAccess } | undefined;

  add({ fn, site, binding }: Captor): void {
    this.#members.push({ fn: new WeakRef(fn), site, name: binding.name });
    if (this.#live?.name === binding.name) adoptLiveVariable(fn, binding.name, this.#live.access);
  }

  /** Marks one of its variables until the end of the capture; false when none can be assigned to. */
  mark(): boolean {
    this.#live ??= this.#findVariable();
    return this.#live !== undefined && markVariable(this.#live.access, this);
  }

  /** The functions that are known to belong to it. */
  *functions(): Generator<object> {
    for (const { fn } of this.#members) {
      const member = fn.deref();
      if (member !== undefined) yield member;
    }
  }

  #findVariable(): { name: string; access: VariableAccess } | undefined {
    for (const { fn, site, name } of this.#members) {
      const member = fn.deref();
      const access = member === undefined ? undefined : liveVariables(member, site, [name])?.get(name);
      if (access !== undefined) return { name, access };
    }
    return undefined;
  }
}

/**
 * Tells the activations of one lexical scope apart. The engine shows what a scope holds but not which scope it is. So
 * this looks for an object that each activation makes again. Without such an object, it leaves a mark in a variable of
 * each known activation, and the scopes of the next function show the mark. So each function has to be examined only
 * once.
 */
export class ActivationIndex {
  readonly #byFreshObject = new WeakMap<object, Activation>();
  #known: WeakRef<Activation>[] = [];
  /** The capture in which all known activations have been marked, and the activations that could not be. */
  #markedIn: number | undefined;
  #unmarked: Activation[] = [];

  /** The activation whose variable a function captured. Throws `ShippingError` when that is uncertain. */
  find(found: Captor): Activation {
    const captor = found.scopes[0]?.isPartial === true ? lookAgain(found) : found;
    const marked = activationIn(captor.scopes);
    if (marked !== undefined) return this.#join(marked, captor);
    const fresh = freshObject(captor);
    if (fresh !== undefined) {
      const activation = this.#byFreshObject.get(fresh) ?? new Activation();
      this.#byFreshObject.set(fresh, activation);
      return activation;
    }
    if (this.#known.length > 0 && this.#markedIn !== captureNumber()) {
      this.#markAll();
      const shown = activationIn(scopesFrom(viewFunction(captor.fn).scopes, captor.binding.name));
      if (shown !== undefined) return this.#join(shown, captor);
    }
    const activation = new Activation();
    activation.add(captor);
    const same = this.#unmarked.length === 0 ? undefined : findUnmarked(captor, activation, this.#unmarked);
    if (same !== undefined) {
      activation.same = same;
      return this.#join(same, captor);
    }
    this.#known.push(new WeakRef(activation));
    // The first one is marked when a second function is found; after that more are likely.
    if (this.#markedIn === captureNumber() && !activation.mark()) this.#unmarked.push(activation);
    return activation;
  }

  #join(activation: Activation, captor: Captor): Activation {
    activation.add(captor);
    return activation;
  }

  #markAll(): void {
    this.#markedIn = captureNumber();
    this.#unmarked = [];
    this.#known = this.#known.filter((reference) => {
      const activation = reference.deref();
      if (activation !== undefined && !activation.mark()) this.#unmarked.push(activation);
      return activation !== undefined;
    });
  }
}

/** A captor with the scopes that the engine shows: they have marks, and variables that the function does not use. */
function lookAgain(captor: Captor): Captor {
  return { ...captor, scopes: scopesFrom(viewFunction(captor.fn).scopes, captor.binding.name) };
}

/** The activation of the mark in a scope. */
function activationIn([innermost]: readonly ScopeView[]): Activation | undefined {
  let found = innermost?.mark;
  while (found instanceof Activation && found.same !== undefined) found = found.same;
  return found instanceof Activation ? found : undefined;
}

/** An object next to the variable that no other activation has. */
function freshObject({ scopes, binding }: Captor): object | undefined {
  const [innermost] = scopes;
  for (const name of Object.keys(innermost?.variables ?? {})) {
    const sibling = binding.scope.bindings.get(name);
    if (innermost === undefined || sibling === undefined || !isFreshInEachActivation(sibling)) continue;
    const value = readVariable(innermost, name, UNINITIALISED);
    if ((typeof value === "object" && value !== null) || typeof value === "function") return value;
  }
  return undefined;
}

/** The scope that holds a variable and all those around it. */
export function scopesFrom(scopes: readonly ScopeView[], name: string): readonly ScopeView[] {
  const start = scopes.findIndex(({ variables }) => Object.hasOwn(variables, name));
  const end = scopes.findIndex(({ description }) => description.startsWith("Global"));
  return start < 0 ? [] : scopes.slice(start, end < 0 ? scopes.length : end);
}

/** Searches the activations whose functions cannot be entered, one by one. */
function findUnmarked(captor: Captor, own: Activation, candidates: readonly Activation[]): Activation | undefined {
  const undecided = candidates.filter((candidate) => !differs(captor, candidate));
  if (undecided.length === 0) return undefined;
  if (!own.mark()) throw undecidable(captor.binding.name);
  return undecided.find((candidate) => {
    for (const member of candidate.functions()) {
      if (scopesFrom(viewFunction(member).scopes, captor.binding.name)[0]?.mark === own) return true;
    }
    return false;
  });
}

/** True when a variable in reach holds another value, which tells two activations apart. */
function differs({ binding, scopes }: Captor, candidate: Activation): boolean {
  const [member] = candidate.functions();
  if (member === undefined) return true;
  const others = scopesFrom(viewFunction(member).scopes, binding.name);
  if (scopes.length !== others.length) return true;
  return scopes.some((scope, index) => {
    const other = others[index];
    return Object.keys(scope.variables).some(
      (key) =>
        other === undefined ||
        !Object.hasOwn(other.variables, key) ||
        !Object.is(readVariable(scope, key, UNINITIALISED), readVariable(other, key, UNINITIALISED)),
    );
  });
}

function undecidable(name: string): ShippingError {
  return new ShippingError(
    `the engine does not tell whether two functions share the variable "${name}", which some code assigns to`,
    [name],
    `keep it in an object, such as \`const state = { ${name} }\`, or detach the debugger`,
  );
}
