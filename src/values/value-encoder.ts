import { types } from "node:util";
import type { SerializationError } from "../errors.ts";
import { type EncodedValue, PayloadParts } from "./bytes/index.ts";
import { beginCapture, type Dependency, endCapture, type FunctionPort, functionPort } from "./function-port.ts";
import { GraphWriter } from "./graph/index.ts";
import { KeptSegments, MANY_FUNCTIONS } from "./kept-segments.ts";
import { Omissions, type PropertyChanges } from "./omissions.ts";
import { explainRefusal, KeptRefusals, locateRefusal, omitRefused, refusedField } from "./refusals/index.ts";
import { Traps } from "./traps.ts";
import { ValueRefusal } from "./value-refusal.ts";
import { NO_COLLECTIONS, type WeakCollection } from "./weak-collections.ts";
// Imported here and not in index.ts: the gRPC thread of a worker uses this folder, but does not encode.
import "./weigh.ts";

/** Most properties that are left out. With more, the value as a whole is the problem. */
const MOST_OMISSIONS = 100;
const NO_DEPENDENCIES: readonly Dependency[] = Object.freeze([]);

/** Turns values into bytes. Keeps a scratch buffer, so use one encoder for many values. */
export class ValueEncoder {
  readonly #port: FunctionPort;
  /** The writer while it is not in use: encoding a value may encode another one. */
  #idle: GraphWriter | undefined;
  #dependencies: readonly Dependency[] = NO_DEPENDENCIES;
  #collections = NO_COLLECTIONS;
  /** The payload encoded last, if some of its data was left in place. */
  #parts: PayloadParts | undefined;
  /** What was written for arguments with many functions, once there are such. */
  #segments: KeptSegments | undefined;
  /** What was refused because it holds too many functions, once there is something. */
  #refusals: KeptRefusals | undefined;
  /** The fields that were left out of receivers of methods. */
  readonly #traps = new WeakMap<object, Traps>();

  constructor(port: FunctionPort = functionPort()) {
    this.#port = port;
    this.#idle = new GraphWriter(port);
  }

  /** The dependencies of the value encoded last: code and modules, each hash once. */
  get dependencies(): readonly Dependency[] {
    return this.#dependencies;
  }

  /** Like `dependencies`, but the encoder releases them: a shared value is dropped when nobody holds it. */
  takeDependencies(): readonly Dependency[] {
    const dependencies = this.#dependencies;
    this.#dependencies = NO_DEPENDENCIES;
    return dependencies;
  }

  /** The weak collections in the value encoded last, and those that were passed in. */
  get weakCollections(): readonly WeakCollection[] {
    return this.#collections;
  }

  /**
   * The payload of `value`. The bytes are valid until the next `encode` of this encoder.
   *
   * @param rootName - what the value is called in the path of an error, default "value"
   * @throws SerializationError when something in the value cannot travel
   */
  encode(value: unknown, rootName = "value"): Uint8Array {
    return this.#encode(value, rootName, undefined, false, NO_COLLECTIONS);
  }

  /**
   * Like `encode`, but large binary data is not copied: the payload has to be used at once.
   *
   * @param weak - collections that the receiver has: their entries for objects in the value travel too
   */
  encodeInParts(value: unknown, rootName = "value", weak = NO_COLLECTIONS): EncodedValue {
    return this.#joined(this.#encode(value, rootName, undefined, true, weak));
  }

  /**
   * Like `encodeInParts`, for a payload that is kept. `holder` stands for the value. Large binary data is still not
   * copied: nobody may change it while the payload is in use.
   *
   * @throws ValueRefusal, with `holder` as its culprit, when something in the value cannot travel
   */
  encodeToKeep(value: unknown, rootName: string, holder: object): EncodedValue {
    try {
      const payload = this.#joined(this.#encode(value, undefined, undefined, true, NO_COLLECTIONS));
      return payload instanceof PayloadParts ? payload.keep() : this.keep(payload);
    } catch (error) {
      if (!(error instanceof ValueRefusal)) throw error;
      const { path, reason, fix } = locateRefusal(error, value, rootName, this.#port);
      throw new ValueRefusal(holder, reason, fix, [path], error.cause);
    }
  }

  /**
   * Like `encodeInParts`, for an array that the caller made itself, such as the arguments of a call. It must have only
   * elements; that is not checked.
   */
  encodeList(values: readonly unknown[], rootName = "value", weak = NO_COLLECTIONS): EncodedValue {
    return this.#joined(this.#encode(values, rootName, values, true, weak));
  }

  /**
   * Like `encodeList`, for the receiver of a method and its arguments. Fields of the receiver that cannot travel do not
   * matter unless the task reads them: then they throw the error that they would throw here.
   */
  encodeMethodCall([receiver, ...args]: readonly unknown[], rootName = "value", weak = NO_COLLECTIONS): EncodedValue {
    const values = [receiver, ...args];
    const known = typeof receiver === "object" && receiver !== null ? this.#traps.get(receiver) : undefined;
    known?.refresh();
    try {
      return this.#joined(this.#encode(values, undefined, values, true, weak, known));
    } catch (error) {
      if (!(error instanceof ValueRefusal)) throw error;
      // Arguments that cannot travel fail the call, even if the receiver can travel.
      this.#encode(args, rootName, args, false, weak);
      if (typeof receiver !== "object" || receiver === null || !canHaveTraps(receiver)) {
        throw explainRefusal(error, receiver, "this", this.#port);
      }
      return this.#joined(this.#encodeWithTraps(error, receiver, values, weak, known ?? new Traps(receiver)));
    }
  }

  /**
   * Like `encodeInParts`, for something that was thrown: properties of errors and plain objects in it that cannot travel
   * are left out, and the thrown value lists them as `dropped`.
   */
  encodeThrown(value: unknown, rootName = "error", weak = NO_COLLECTIONS): EncodedValue {
    try {
      return this.#joined(this.#encode(value, undefined, undefined, true, weak));
    } catch (error) {
      if (!(error instanceof ValueRefusal)) throw error;
      if (typeof value !== "object" || value === null) throw explainRefusal(error, value, rootName, this.#port);
      return this.#joined(this.#encodeWithout(error, value, rootName, weak));
    }
  }

  /**
   * The payload encoded last, as bytes that the next `encode` does not change. A large payload is not copied for that.
   *
   * @param payload - the result of `encode`
   */
  keep(payload: Uint8Array): Uint8Array {
    return this.#idle?.keep(payload) ?? payload;
  }

  /** Leaves out one field of the receiver after the other until the rest can travel. */
  #encodeWithTraps(
    first: ValueRefusal,
    receiver: object,
    values: readonly unknown[],
    weak: readonly WeakCollection[],
    traps: Traps,
  ): Uint8Array {
    let refusal = first;
    while (traps.size < MOST_OMISSIONS) {
      const key = refusedField(refusal, receiver, this.#port, traps);
      if (key === undefined) break;
      traps.add(key, explainRefusal(refusal, receiver, "this", this.#port, traps));
      try {
        const payload = this.#encode(values, undefined, values, true, weak, traps);
        this.#traps.set(receiver, traps);
        return payload;
      } catch (error) {
        if (!(error instanceof ValueRefusal)) throw error;
        refusal = error;
      }
    }
    throw explainRefusal(refusal, receiver, "this", this.#port, traps);
  }

  /** Leaves out one property after the other until the rest can travel. */
  #encodeWithout(first: ValueRefusal, value: object, rootName: string, weak: readonly WeakCollection[]): Uint8Array {
    const omissions = new Omissions(value);
    let refusal = first;
    while (
      omissions.size < MOST_OMISSIONS &&
      !types.isProxy(value) &&
      omitRefused(refusal, value, rootName, this.#port, omissions)
    ) {
      try {
        return this.#encode(value, undefined, undefined, true, weak, omissions);
      } catch (error) {
        if (!(error instanceof ValueRefusal)) throw error;
        refusal = error;
      }
    }
    throw explainRefusal(refusal, value, rootName, this.#port, omissions);
  }

  /** Throws `ValueRefusal`, or with a `rootName` the error that the user sees. */
  #encode(
    value: unknown,
    rootName: string | undefined,
    list: readonly unknown[] | undefined,
    inParts: boolean,
    weak: readonly WeakCollection[],
    omissions?: PropertyChanges,
  ): Uint8Array {
    const plain = weak.length === 0 ? this.#idle?.writePlain(value, list) : undefined;
    if (plain !== undefined) {
      this.#dependencies = NO_DEPENDENCIES;
      this.#collections = NO_COLLECTIONS;
      return plain;
    }
    if (rootName !== undefined) this.#refusals?.refuse(list ?? [value], rootName);
    const writer = this.#idle ?? new GraphWriter(this.#port);
    this.#idle = undefined;
    const isArguments = list !== undefined && rootName !== undefined;
    const segments = isArguments ? this.#segments : undefined;
    writer.leavesLarge = inParts;
    writer.omissions = omissions;
    if (weak.length > 0) for (const collection of weak) writer.noteCollection(collection);
    beginCapture();
    try {
      const payload = list === undefined ? writer.write(value) : writer.writeList(list, segments);
      this.#parts = writer.takeParts(payload);
      this.#dependencies = writer.takeDependencies();
      this.#collections = writer.takeCollections();
      if (isArguments && writer.functions >= MANY_FUNCTIONS) {
        this.#segments ??= new KeptSegments(this.#port);
        this.#segments.prepare(list, performance.now() - writer.began);
      }
      return payload;
    } catch (error) {
      throw rootName !== undefined && error instanceof ValueRefusal
        ? this.#explain(error, value, rootName, list, writer)
        : error;
    } finally {
      endCapture();
      writer.clear();
      this.#idle = writer;
    }
  }

  /** The error for the user. It is kept if finding it takes long and it would be the same again. */
  #explain(
    refusal: ValueRefusal,
    value: unknown,
    rootName: string,
    list: readonly unknown[] | undefined,
    writer: GraphWriter,
  ): SerializationError {
    const refusals = this.#refusals ?? new KeptRefusals(this.#port);
    const refused = refusals.watch(list ?? [value], refusal, writer.objects());
    const error = explainRefusal(refusal, value, rootName, this.#port);
    if (refused !== undefined) {
      refusals.keep(refused, rootName, error);
      this.#refusals = refusals;
    }
    return error;
  }

  #joined(payload: Uint8Array): EncodedValue {
    const parts = this.#parts;
    if (parts === undefined) return payload;
    this.#parts = undefined;
    return parts;
  }
}

function canHaveTraps(receiver: object): boolean {
  return !types.isProxy(receiver) && Object.isExtensible(receiver);
}
