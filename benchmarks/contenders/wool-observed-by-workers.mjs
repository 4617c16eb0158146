import { events } from "wool-ts";
import { open as openPlain } from "./wool.mjs";

/** A handler in each worker hears of every stage of every task that it runs. */
export function open(options) {
  const setup = () => void events.on("task", () => undefined);
  return openPlain({ ...options, workerOptions: { setup } });
}
