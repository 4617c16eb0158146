import type inspector from "node:inspector";
import { inspect, internalsOf, liveValue, liveValues, withRemoteObject } from "./inspector-session.ts";

/** One private field, in the order in which V8 installed it. */
export interface PrivateField {
  /** With its `#`. */
  readonly name: string;
  readonly value: unknown;
}

/** Whether a promise is settled, and with what. */
export interface PromiseView {
  readonly state: "pending" | "fulfilled" | "rejected";
  readonly result: unknown;
}

/** Reads the state of a promise without waiting for it. Throws when the inspector does not show it. */
export function viewPromise(promise: object): PromiseView {
  return withRemoteObject(promise, (objectId) => {
    const internals = internalsOf(objectId);
    const find = (name: string): inspector.Runtime.RemoteObject | undefined =>
      internals.find((property) => property.name === name)?.value;
    const state: unknown = find("[[PromiseState]]")?.value;
    const result = find("[[PromiseResult]]");
    if (state === "pending") return { state, result: undefined };
    if ((state !== "fulfilled" && state !== "rejected") || result === undefined) {
      throw new Error("the inspector does not show the state of a promise");
    }
    return { state, result: liveValue(result) };
  });
}

/** The private fields of an object, in the order in which they were installed: those of a base class first. */
export function viewPrivates(object: object): PrivateField[] {
  return withRemoteObject(object, (objectId) => {
    // Not in the published typings of the protocol.
    interface WithPrivates {
      readonly privateProperties?: readonly {
        readonly name: string;
        readonly value?: inspector.Runtime.RemoteObject;
      }[];
    }
    const { privateProperties = [] } = inspect<WithPrivates>("Runtime.getProperties", {
      objectId,
      ownProperties: true,
    });
    const fields = privateProperties.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]));
    const values = liveValues(fields.map(({ value }) => value));
    return fields.map(({ name }, index) => ({ name, value: values[index] }));
  });
}
