export { Deadline } from "./deadline.ts";
export { keepTimerFunctions, Timer } from "./timer.ts";
