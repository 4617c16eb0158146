export { Deadline } from "./deadline.ts";
export { LONGEST_DELAY_MS, Timer } from "./timer.ts";
