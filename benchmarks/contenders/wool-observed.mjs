import { events } from "wool-ts";
import { open as openPlain } from "./wool.mjs";

/** A handler at the caller hears of every stage of every call. */
export function open(options) {
  events.on("task", () => undefined);
  return openPlain(options);
}
