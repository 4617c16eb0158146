import { burn as step } from "./burn.mjs";

export const add = ({ x, y }) => x + y;
export const echo = (value) => value;
export const burn = ({ steps, seed }) => step(steps, seed);
