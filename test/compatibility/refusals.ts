import type { Refusals } from "./outcomes.ts";

/** What cannot travel of each package, and what is said about it; everything else must be right. */
export const REFUSALS: Readonly<Record<string, Refusals>> = {
  arktype: {
    instance: /of the package "@ark\/.*is one of many functions .*perWorker\(\(\) => .*type\(\{ id: "number.integer"/,
    argument: /of the package "@ark\/.*is one of many functions .*perWorker/,
  },
  "axios, required": { instance: "is a stream" },
  express: { instance: "http.IncomingMessage holds an open handle" },
  fastify: { instance: "http.Server holds an open handle" },
  ioredis: { instance: "keeps something under Symbol" },
  lodash: { instance: "an arguments object belongs to a running call" },
  mathjs: {
    "own instance": /of the package "mathjs" is one of many functions .*perWorker\(\(\) => .*create\)?\(.*all/,
  },
  "node-fetch": { instance: "a Proxy", argument: "a Proxy", result: "a Proxy" },
  undici: { instance: "keeps something under Symbol", result: "has private fields of Response" },
  winston: { instance: "is a stream", argument: "is a stream" },
};
