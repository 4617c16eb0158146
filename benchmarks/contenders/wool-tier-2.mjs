import { openPool, tier2 } from "./shipped-add.mjs";

export const open = () => openPool(tier2());
