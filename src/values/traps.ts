import { SerializationError } from "../errors.ts";
import type { PropertyChanges } from "./omissions.ts";
import { ownProperty, type Property } from "./own-property.ts";

/** The property that tells the worker which fields of the receiver of a method were left out. */
const TRAPS = Symbol.for("wool-ts.traps");

/** A field that was left out, and why. */
type Trap = readonly [key: string | symbol, message: string, path: string];

/** The fields of the receiver of a method that cannot travel. Reading one of them in the task throws. */
export class Traps implements PropertyChanges {
  readonly #receiver: object;
  readonly #traps = new Map<string | symbol, { readonly value: unknown; readonly error: SerializationError }>();

  /** @param receiver - the object that the method was called on */
  constructor(receiver: object) {
    this.#receiver = receiver;
  }

  /** How many fields are left out. */
  get size(): number {
    return this.#traps.size;
  }

  add(key: string | symbol, error: SerializationError): void {
    this.#traps.set(key, { value: ownProperty(this.#receiver, key)?.value, error });
  }

  /** Forgets the fields whose value has changed meanwhile. */
  refresh(): void {
    for (const [key, { value }] of this.#traps) {
      if (ownProperty(this.#receiver, key)?.value !== value) this.#traps.delete(key);
    }
  }

  concern(holder: object): boolean {
    return holder === this.#receiver;
  }

  has(holder: object, key: string | symbol): boolean {
    return holder === this.#receiver && this.#traps.has(key);
  }

  additionTo(holder: object): { readonly key: symbol; readonly property: Property } | undefined {
    if (holder !== this.#receiver || this.#traps.size === 0) return undefined;
    const value = [...this.#traps].map(([key, { error }]): Trap => [key, error.message, error.path]);
    return { key: TRAPS, property: { value, writable: true, enumerable: true, configurable: true } };
  }
}

/** Makes the fields that were left out throw when they are read. An assignment turns such a field into an ordinary one. */
export function setTraps(receiver: unknown): unknown {
  if (typeof receiver !== "object" || receiver === null) return receiver;
  const traps = ownProperty(receiver, TRAPS)?.value;
  if (!isTrapList(traps)) return receiver;
  Reflect.deleteProperty(receiver, TRAPS);
  for (const [key, message, path] of traps) {
    Reflect.defineProperty(receiver, key, {
      get: () => {
        throw new SerializationError(message, path);
      },
      set: (value: unknown) => {
        Reflect.defineProperty(receiver, key, { value, writable: true, enumerable: true, configurable: true });
      },
      enumerable: true,
      configurable: true,
    });
  }
  return receiver;
}

function isTrapList(value: unknown): value is readonly Trap[] {
  return Array.isArray(value) && value.every((trap) => Array.isArray(trap) && trap.length === 3);
}
