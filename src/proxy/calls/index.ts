export { RoutineCaller } from "./routine-caller.ts";
