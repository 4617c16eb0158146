import { open as openIpc } from "./ipc.mjs";

/** With structured clone instead of JSON, which cannot carry bytes. */
export const open = (options) => openIpc({ ...options, serialization: "advanced" });
