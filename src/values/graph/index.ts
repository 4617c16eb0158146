export { GraphReader } from "./graph-reader.ts";
export { GraphWriter } from "./graph-writer.ts";
export type { Segment } from "./segment.ts";
