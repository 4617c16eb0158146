export { GraphReader } from "./graph-reader.ts";
export { GraphWriter } from "./graph-writer.ts";
