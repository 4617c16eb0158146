import type { Refusals } from "./outcomes.ts";

/** What cannot travel of each package, and what is said about it; everything else must be right. */
export const REFUSALS: Readonly<Record<string, Refusals>> = {
  debug: {
    instance: "was made inside of Node",
    argument: "was made inside of Node",
    result: "was made inside of Node",
  },
  express: { instance: "http.IncomingMessage holds an open handle" },
  fastify: { instance: "http.Server holds an open handle" },
  ioredis: { instance: "keeps something under Symbol" },
  "node-fetch": { instance: "a Proxy", argument: "a Proxy", result: "a Proxy" },
  undici: { instance: "keeps something under Symbol", result: "has private fields of Response" },
  winston: { instance: "is a stream", argument: "is a stream" },
};
