import { addByReference, openPool } from "./shipped-add.mjs";

export const open = () => openPool(addByReference);
