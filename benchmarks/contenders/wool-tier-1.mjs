import { openPool, tier1 } from "./shipped-add.mjs";

export const open = () => openPool(tier1());
