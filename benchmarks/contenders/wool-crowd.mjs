import { open as openWool } from "./wool.mjs";

/** Many more workers than cores. */
export const open = (options) => openWool({ ...options, size: 40 });
