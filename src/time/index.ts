export { Deadline } from "./deadline.ts";
export { Timer } from "./timer.ts";
