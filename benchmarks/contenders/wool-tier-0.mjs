import { openPool, tier0 } from "./shipped-add.mjs";

export const open = () => openPool(tier0());
