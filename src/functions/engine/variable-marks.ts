/** Reads and writes a variable around a function. */
export interface VariableAccess {
  get(): unknown;
  set(value: unknown): void;
}

/** Replaces the value of a variable during one capture. */
class Mark {
  readonly owner: object;
  readonly value: unknown;

  constructor(owner: object, value: unknown) {
    this.owner = owner;
    this.value = value;
  }
}

let atEnd: (() => void)[] = [];
let marked: { readonly variable: VariableAccess; readonly value: unknown }[] = [];
let changes = 0;
let captures = 0;
let lastCapture = 0;

/**
 * Puts a mark into a variable, so that every function that shares the variable shows the same owner. No user code runs
 * before the mark is removed. False when the variable cannot be assigned to.
 */
export function markVariable(variable: VariableAccess, owner: object): boolean {
  try {
    const value = variable.get();
    variable.set(new Mark(owner, value));
    changes += 1;
    marked.push({ variable, value });
    return true;
  } catch {
    // Not initialised yet.
    return false;
  }
}

function removeMarks(): void {
  const removed = marked;
  marked = [];
  changes += 1;
  for (const { variable, value } of removed) variable.set(value);
}

/**
 * Begins a capture, which may take many functions apart: the marks that they need are removed when it ends, not after
 * each of them. Every call needs one of `endCapture`. A capture inside another is part of it.
 */
export function beginCapture(): void {
  if (captures === 0) lastCapture += 1;
  captures += 1;
}

/** Ends the capture that `beginCapture` began. */
export function endCapture(): void {
  captures -= 1;
  if (captures === 0 && (marked.length > 0 || atEnd.length > 0)) cleanUp();
}

/** Runs `body` as one capture. */
export function asOneCapture<T>(body: () => T): T {
  beginCapture();
  try {
    return body();
  } finally {
    endCapture();
  }
}

/** The number of the capture that is under way; undefined when there is none. */
export function captureNumber(): number | undefined {
  return captures === 0 ? undefined : lastCapture;
}

function cleanUp(): void {
  removeMarks();
  const clearing = atEnd;
  atEnd = [];
  for (const clear of clearing) clear();
}

/** Runs `clear` at the end of the capture that is under way; at once when there is none. */
export function afterCapture(clear: () => void): void {
  if (captures === 0) clear();
  else atEnd.push(clear);
}

/** Changes whenever a mark is left or removed: scopes that were read before may lack it. */
export function marksVersion(): number {
  return changes;
}

/** True while some variable holds a mark. */
export function hasMarks(): boolean {
  return marked.length > 0;
}

/** The value that a variable has, also while it holds a mark. */
export function unmarked(value: unknown): unknown {
  return value instanceof Mark ? value.value : value;
}

/** The owner of a mark; undefined for any other value. */
export function markOwner(value: unknown): object | undefined {
  return value instanceof Mark ? value.owner : undefined;
}
