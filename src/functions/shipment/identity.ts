import { randomUUID } from "node:crypto";
import { revivedSource } from "./revived.ts";

/** Names this process, so that its functions are recognised when they come back. */
export const processId: string = randomUUID();

/** Gives things ids that are the same in every process. Does not keep the things alive. */
export class PortableIds<K extends WeakKey> {
  readonly #ids = new WeakMap<K, string>();
  readonly #things = new Map<string, WeakRef<K>>();
  #unchecked = this.#things.entries();
  #count = 0;

  /** The id of a thing: made here, or kept from where it came from. */
  identify(thing: K): string {
    const existing = this.#ids.get(thing);
    if (existing !== undefined) return existing;
    this.#count += 1;
    const id = `${processId}:${this.#count}`;
    this.adopt(thing, id);
    return id;
  }

  /** Gives the stand-in for a thing of another process the id that the thing has at its origin. */
  adopt(thing: K, id: string): void {
    this.#ids.set(thing, id);
    this.#things.set(id, new WeakRef(thing));
    this.#check();
    this.#check();
  }

  /** Checks the next id and forgets it if its thing is gone. Two checks for each new id keep up with all collected things. */
  #check(): void {
    const { value, done } = this.#unchecked.next();
    if (done === true) this.#unchecked = this.#things.entries();
    else if (value[1].deref() === undefined) this.#things.delete(value[0]);
  }

  /** The id of something that was identified or adopted; undefined otherwise. */
  idOf(thing: K): string | undefined {
    return this.#ids.get(thing);
  }

  /**
   * The thing with that id in this process: the original at its origin; elsewhere its stand-in, for as long as it is in
   * use.
   */
  find(id: string): K | undefined {
    return this.#things.get(id)?.deref();
  }
}

/** The functions and classes that have left this process, and those from elsewhere that are looked up by id. */
const functions = new PortableIds<object>();

/** The id of a function or class: made here, or kept from where it came from. */
export function identify(object: object): string {
  return revivedSource(object)?.id ?? functions.identify(object);
}

/** Makes a revived function or class available under the id that it has at its origin. */
export function adopt(object: object, id: string): void {
  functions.adopt(object, id);
}

/** The id of something that was identified or adopted; undefined otherwise. */
export function identityOf(object: object): string | undefined {
  return revivedSource(object)?.id ?? functions.idOf(object);
}

/** The object with that id in this process: the original at its origin, the revived one elsewhere. */
export function identified(id: string): object | undefined {
  return functions.find(id);
}

/** True for the id of something that was made in this process. */
export function isOwnId(id: string): boolean {
  return id.startsWith(processId);
}
