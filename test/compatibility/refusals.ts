import type { Refusals } from "./outcomes.ts";

/** What cannot travel of each package, and what is said about it; everything else must be right. */
export const REFUSALS: Readonly<Record<string, Refusals>> = {
  arktype: {
    instance:
      /of the package "@ark\/.*is one of many functions .*perWorker\(\(\) => .*type\)?\(\{ id: "number.integer"/,
    argument: /of the package "@ark\/.*is one of many functions .*perWorker/,
  },
  "axios, required": { instance: "is a stream" },
  express: { instance: "http.IncomingMessage holds an open handle" },
  fastify: { instance: "http.Server holds an open handle" },
  hono: {
    instance:
      /app: has private fields of Hono.* comes from the package "hono".*perWorker\(\(\) => new (?:\w+\.)?Hono\(\)\)/,
    argument: "has private fields of Hono, .*Make the instance inside the routine",
  },
  ioredis: { instance: "keeps something under Symbol" },
  kysely: {
    instance: /db: has private fields of .* comes from the package "kysely".*perWorker\(\(\) => new (?:\w+\.)?Kysely\(/,
    argument: /has private fields of .* of "kysely".*Make the instance inside the routine/,
  },
  lodash: { instance: "an arguments object belongs to a running call" },
  marked: {
    instance:
      /own -> .*has private fields of .* comes from the package "marked".*perWorker\(\(\) => new (?:\w+\.)?Marked\(/,
    argument: /has private fields of .* of "marked".*Make the instance inside the routine/,
  },
  mathjs: {
    "own instance": /of the package "mathjs" is one of many functions .*perWorker\(\(\) => .*create\)?\(.*all/,
  },
  mobx: { observable: /data: a Proxy .* comes from the package "mobx".*perWorker\(\(\) => .*observable\)?\(/ },
  "node-fetch": { instance: "a Proxy", argument: "a Proxy", result: "a Proxy" },
  undici: { instance: "keeps something under Symbol", result: "has private fields of Response" },
  winston: { instance: "is a stream", argument: "is a stream" },
};
