import {
  adoptLiveVariable,
  afterCapture,
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
  /** The last captures that have met it. */
  captures: readonly number[] = [];
  /** A variable beside it will hold an object that no other activation has, but is not initialised yet. */
  isEarly = false;
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

const MOST_CAPTURES = 4;

/**
 * Tells the activations of one lexical scope apart, as far as functions of one capture have them. The engine shows what
 * a scope holds but not which scope it is. So this looks for an object that each activation makes again. Without such an
 * object, it leaves a mark in a variable of each activation that the capture has met, and the scopes of the next
 * function show the mark. So each function has to be examined only once, and none if there is only one activation.
 */
export class ActivationIndex {
  readonly #byFreshObject = new WeakMap<object, Activation>();
  #capture: number | undefined;
  /** The activations that the capture under way has met. They are different. */
  readonly #met = new Set<Activation>();
  /** How many of them an earlier capture has met: it has found those to be different. */
  readonly #metBefore = new Map<number, number>();
  /** Those whose variables were not read, and the others by what their variables hold. */
  #unread = 0;
  #byValues = new ValueTree();
  #isMarking = false;
  /** Those that cannot be marked. */
  #unmarked: Activation[] = [];

  /**
   * The activation whose variable a function captured. Throws `ShippingError` when that is uncertain.
   *
   * @param known - what was found for the function in an earlier capture
   */
  find(found: Captor, known?: Activation): Activation {
    this.#begin();
    const earlier = known === undefined ? undefined : resolve(known);
    if (earlier !== undefined && this.#met.has(earlier)) return earlier;
    if (earlier !== undefined && !earlier.isEarly && this.#isOther(earlier)) return this.#meet(earlier);
    const captor = found.scopes[0]?.isPartial === true ? lookAgain(found) : found;
    const marked = activationIn(captor.scopes);
    if (marked !== undefined) return join(marked, captor, earlier);
    const fresh = freshObject(captor);
    if (typeof fresh === "object" || typeof fresh === "function") {
      const activation = this.#byFreshObject.get(fresh) ?? earlier ?? new Activation();
      this.#byFreshObject.set(fresh, activation);
      activation.isEarly = false;
      if (earlier !== undefined && earlier !== activation) earlier.same = activation;
      return this.#meet(activation);
    }
    const alike = this.#isMarking ? undefined : this.#byValues.at(captor.scopes[0]);
    // Activations whose variables hold other values are other ones.
    if (alike !== undefined && (alike.isTaken || this.#unread > 0)) {
      this.#isMarking = true;
      for (const each of this.#met) this.#mark(each);
      const shown = activationIn(lookAgain(captor).scopes);
      if (shown !== undefined) return join(shown, captor, earlier);
    }
    const activation = earlier ?? new Activation();
    if (earlier === undefined) activation.add(captor);
    activation.isEarly = fresh === UNINITIALISED;
    const same = this.#unmarked.length === 0 ? undefined : findUnmarked(captor, activation, this.#unmarked);
    if (same !== undefined) {
      activation.same = same;
      return join(same, captor, earlier);
    }
    return this.#meet(activation, alike);
  }

  #begin(): void {
    const capture = captureNumber();
    if (capture !== undefined && capture === this.#capture) return;
    this.#capture = capture;
    this.#forget();
    // Otherwise this would keep their variables alive.
    afterCapture(() => this.#forget());
  }

  #forget(): void {
    this.#met.clear();
    this.#metBefore.clear();
    this.#unread = 0;
    this.#byValues = new ValueTree();
    this.#isMarking = false;
    this.#unmarked = [];
  }

  /** True when an earlier capture has found that an activation is none of those that this capture has met. */
  #isOther({ captures }: Activation): boolean {
    return this.#met.size === 0 || captures.some((capture) => this.#metBefore.get(capture) === this.#met.size);
  }

  #meet(activation: Activation, values?: ValueTree): Activation {
    if (this.#met.has(activation)) return activation;
    this.#met.add(activation);
    if (values === undefined) this.#unread += 1;
    else values.isTaken = true;
    for (const capture of activation.captures) {
      this.#metBefore.set(capture, (this.#metBefore.get(capture) ?? 0) + 1);
    }
    if (this.#capture !== undefined) {
      activation.captures = [...activation.captures.slice(1 - MOST_CAPTURES), this.#capture];
    }
    // The first one is marked when a second function is found; after that more are likely.
    if (this.#isMarking) this.#mark(activation);
    return activation;
  }

  #mark(activation: Activation): void {
    if (!activation.mark()) this.#unmarked.push(activation);
  }
}

/** Finds scopes whose variables hold the same values. */
class ValueTree {
  /** There is such a scope. */
  isTaken = false;
  readonly #branches = new Map<unknown, ValueTree>();

  at(scope: ScopeView | undefined): ValueTree {
    if (scope === undefined) return this;
    return Object.keys(scope.variables).reduce<ValueTree>(
      (found, name) => found.#branch(readVariable(scope, name, UNINITIALISED)),
      this,
    );
  }

  #branch(value: unknown): ValueTree {
    const branch = this.#branches.get(value) ?? new ValueTree();
    this.#branches.set(value, branch);
    return branch;
  }
}

function join(activation: Activation, captor: Captor, earlier: Activation | undefined): Activation {
  activation.add(captor);
  if (earlier !== undefined && earlier !== activation) earlier.same = activation;
  return activation;
}

function resolve(activation: Activation): Activation {
  let found = activation;
  while (found.same !== undefined) found = found.same;
  return found;
}

/** A captor with the scopes that the engine shows: they have marks, and variables that the function does not use. */
function lookAgain(captor: Captor): Captor {
  return { ...captor, scopes: scopesFrom(viewFunction(captor.fn).scopes, captor.binding.name) };
}

/** The activation of the mark in a scope. */
function activationIn([innermost]: readonly ScopeView[]): Activation | undefined {
  return innermost?.mark instanceof Activation ? resolve(innermost.mark) : undefined;
}

/** An object next to the variable that no other activation has; `UNINITIALISED` when there will be one. */
function freshObject({ scopes, binding }: Captor): object | typeof UNINITIALISED | undefined {
  const [innermost] = scopes;
  let found: typeof UNINITIALISED | undefined;
  for (const name of Object.keys(innermost?.variables ?? {})) {
    const sibling = binding.scope.bindings.get(name);
    if (innermost === undefined || sibling === undefined || !isFreshInEachActivation(sibling)) continue;
    const value = readVariable(innermost, name, UNINITIALISED);
    if ((typeof value === "object" && value !== null) || typeof value === "function") return value;
    if (value === UNINITIALISED) found = UNINITIALISED;
  }
  return found;
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
