export { Dispatching } from "./dispatching.ts";
