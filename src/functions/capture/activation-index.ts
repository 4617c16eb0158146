import { type CodeSite, entryTo, pauseIn, type ScopeView, viewFunction } from "../engine/index.ts";
import { ShippingError } from "../shipment/index.ts";
import type { Binding } from "../syntax/index.ts";
import { isCapturedOncePerActivation, isFreshInEachActivation } from "./activation-facts.ts";

/** A function that captured a variable. */
export interface Captor {
  readonly fn: object;
  readonly site: CodeSite;
  readonly binding: Binding;
  /** What the variable holds now. */
  readonly value: unknown;
  /** The scope that holds it and those around it, innermost first. */
  readonly scopes: readonly ScopeView[];
}

/** An activation of the code that declares the variable, known by the first function that was seen to belong to it. */
interface Activation<T extends object> {
  readonly token: WeakRef<T>;
  readonly witness: WeakRef<object>;
  readonly site: CodeSite;
}

interface Candidate<T extends object> {
  readonly token: T;
  readonly witness: object;
  readonly site: CodeSite;
}

// A reader keeps the variables of its activation alive, so it lives no longer than the function it was made for.
const readers = new WeakMap<object, Map<string, () => unknown>>();

function readerOf(fn: object, name: string): (() => unknown) | undefined {
  return readers.get(fn)?.get(name);
}

function keepReader(fn: object, name: string, reader: () => unknown): void {
  const known = readers.get(fn) ?? new Map<string, () => unknown>();
  readers.set(fn, known.set(name, reader));
}

/**
 * Tells the activations of one variable apart, each by a token. The engine shows what a scope holds but not which scope
 * it is, so this looks for evidence: an object that each activation makes anew, a value that differs, and when there is
 * none, a mark that is put into the variable for a moment.
 */
export class ActivationIndex<T extends object> {
  readonly #makeToken: () => T;
  readonly #byFreshObject = new WeakMap<object, T>();
  #activations: Activation<T>[] = [];

  constructor(makeToken: () => T) {
    this.#makeToken = makeToken;
  }

  /** The token of the activation that a function captured the variable of. Throws `ShippingError` when it cannot tell. */
  find(captor: Captor): T {
    const fresh = freshObject(captor);
    if (fresh !== undefined) {
      const token = this.#byFreshObject.get(fresh) ?? this.#makeToken();
      this.#byFreshObject.set(fresh, token);
      return token;
    }
    const candidates = this.#candidates();
    const isAlone = candidates.length === 0 || isCapturedOncePerActivation(captor.site, captor.binding);
    const token = (isAlone ? undefined : search(captor, candidates)) ?? this.#makeToken();
    const { fn, site } = captor;
    if (!candidates.some((candidate) => candidate.token === token)) {
      this.#activations.push({ token: new WeakRef(token), witness: new WeakRef(fn), site });
    }
    return token;
  }

  #candidates(): Candidate<T>[] {
    const found: Candidate<T>[] = [];
    this.#activations = this.#activations.filter((activation) => {
      const token = activation.token.deref();
      const witness = activation.witness.deref();
      if (token === undefined || witness === undefined) return false;
      found.push({ token, witness, site: activation.site });
      return true;
    });
    return found;
  }
}

/** An object next to the variable that no other activation has. */
function freshObject({ scopes, binding }: Captor): object | undefined {
  const [innermost] = scopes;
  for (const name of Object.keys(innermost?.variables ?? {})) {
    const sibling = binding.scope.bindings.get(name);
    if (innermost === undefined || sibling === undefined || !isFreshInEachActivation(sibling)) continue;
    const value = read(innermost, name);
    if ((typeof value === "object" && value !== null) || typeof value === "function") return value;
  }
  return undefined;
}

const UNINITIALISED = Symbol("uninitialised");

function read({ variables }: ScopeView, name: string): unknown {
  try {
    return variables[name];
  } catch {
    return UNINITIALISED;
  }
}

/** The scope that holds a variable and all those around it. */
export function scopesFrom(scopes: readonly ScopeView[], name: string): readonly ScopeView[] {
  const start = scopes.findIndex(({ variables }) => Object.hasOwn(variables, name));
  const end = scopes.findIndex(({ description }) => description.startsWith("Global"));
  return start < 0 ? [] : scopes.slice(start, end < 0 ? scopes.length : end);
}

function search<T extends object>(captor: Captor, candidates: readonly Candidate<T>[]): T | undefined {
  const undecided = candidates.filter((candidate) => !differs(captor, candidate));
  return undecided.length === 0 ? undefined : findByMark(captor, undecided);
}

function differs<T extends object>({ binding, value, scopes }: Captor, { witness }: Candidate<T>): boolean {
  const { name } = binding;
  const reader = readerOf(witness, name);
  if (reader !== undefined) return !Object.is(reader(), value);
  const others = scopesFrom(viewFunction(witness).scopes, name);
  if (scopes.length !== others.length) return true;
  return scopes.some((scope, index) => {
    const other = others[index];
    return Object.keys(scope.variables).some(
      (key) =>
        other === undefined || !Object.hasOwn(other.variables, key) || !Object.is(read(scope, key), read(other, key)),
    );
  });
}

/** Marks the variable as seen from one of the functions, and looks who else sees the mark. */
function findByMark<T extends object>(captor: Captor, candidates: readonly Candidate<T>[]): T | undefined {
  const { fn, site, binding, value } = captor;
  const { name } = binding;
  const marked = pauseWithMark(fn, site, name, value, (sees) => candidates.find(({ witness }) => sees(witness)));
  if (marked !== undefined) return marked.result?.token;
  for (const candidate of candidates) {
    const other = pauseWithMark(candidate.witness, candidate.site, name, value, (sees) => sees(fn));
    if (other === undefined) throw undecidable(name);
    if (other.result) return candidate.token;
  }
  return undefined;
}

function pauseWithMark<R>(
  fn: object,
  site: CodeSite,
  name: string,
  value: unknown,
  look: (sees: (other: object) => boolean) => R,
): { readonly result: R } | undefined {
  const entry = entryTo(site);
  if (entry === undefined) return undefined;
  const mark = `wool-mark-${Math.random()}`;
  const sees = (other: object): boolean => {
    const reader = readerOf(other, name);
    if (reader !== undefined) return reader() === mark;
    const [innermost] = scopesFrom(viewFunction(other).scopes, name);
    return innermost !== undefined && read(innermost, name) === mark;
  };
  return pauseIn(fn, entry, (paused) => {
    if (readerOf(fn, name) === undefined) keepReader(fn, name, paused.reader(name));
    let outcome: { readonly result: R } | undefined;
    const isMarked = paused.withVariable(name, mark, value, () => {
      outcome = { result: look(sees) };
    });
    return isMarked ? outcome : undefined;
  });
}

function undecidable(name: string): ShippingError {
  return new ShippingError(
    `the engine does not tell whether two functions share the variable "${name}", which some code assigns to`,
    [name],
    `keep it in an object, such as \`const state = { ${name} }\`, or detach the debugger`,
  );
}
