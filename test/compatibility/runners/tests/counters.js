export * as counters from "./counter.js";
