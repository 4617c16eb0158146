import type { Refusals } from "./outcomes.ts";

/** What cannot travel of each package, and what is said about it; everything else must be right. */
export const REFUSALS: Readonly<Record<string, Refusals>> = {
  arktype: {
    instance:
      /of the package "@ark\/.*is one of many functions .*perWorker\(\(\) => .*type\)?\(\{ id: "number.integer"/,
    argument: /of the package "@ark\/.*is one of many functions .*perWorker/,
  },
  "axios, required": { instance: "is a stream" },
  "cron-parser": {
    instance:
      /hourly: has private fields of CronExpression.* comes from the package "cron-parser".*perWorker\(\(\) => .*parse\(/,
    argument: /has private fields of CronExpression.*perWorker\(\(\) => new CronExpression\(/,
  },
  "csv-parse": {
    instance: /is a stream.* comes from the package "csv-parse".*perWorker\(\(\) => .*\{ delimiter: ":" \}\)/,
    argument: /is a stream.*perWorker\(\(\) => new Parser\(/,
  },
  express: { instance: "http.IncomingMessage holds an open handle" },
  fastify: { instance: "http.Server holds an open handle" },
  hono: {
    instance:
      /app: has private fields of Hono.* comes from the package "hono".*perWorker\(\(\) => new (?:\w+\.)?Hono\(\)\)/,
    argument: "has private fields of Hono, .*Make the instance inside the routine",
  },
  inversify: {
    instance:
      /container: has private fields of .* comes from the package "inversify".*perWorker\(\(\) => new (?:\w+\.)?Container\(/,
    argument: /has private fields of .* of "(?:inversify|@inversifyjs\/container)".*perWorker\(\(\) => new Container\(/,
    result: /has private fields of .* of "(?:inversify|@inversifyjs\/container)".*Make the instance inside the routine/,
  },
  ioredis: { instance: "keeps something under Symbol" },
  jose: {
    instance:
      /unsigned: has private fields of SignJWT.* comes from the package "jose".*perWorker\(\(\) => new (?:\w+\.)?SignJWT\(/,
    argument: /has private fields of SignJWT.*perWorker\(\(\) => new SignJWT\(/,
    key: /crypto.KeyObject has state that only this process can see.*perWorker\(\(\) => \.\.\.\)/,
  },
  kysely: {
    instance: /db: has private fields of .* comes from the package "kysely".*perWorker\(\(\) => new (?:\w+\.)?Kysely\(/,
    argument: /has private fields of .* of "kysely".*Make the instance inside the routine/,
  },
  lodash: { instance: "an arguments object belongs to a running call" },
  "lru-cache": {
    instance:
      /cache: has private fields of .* comes from the package "lru-cache".*perWorker\(\(\) => new (?:\w+\.)?LRUCache\(/,
    argument: /has private fields of .* of "lru-cache".*perWorker\(\(\) => new LRUCache\(/,
    result: /has private fields of .* of "lru-cache".*Make the instance inside the routine/,
  },
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
  "p-limit": {
    instance: /limit -> .*has private fields of Queue.* comes from the package "p-limit".*perWorker\(\(\) => .*\(2\)\)/,
    argument: /has private fields of Queue.*perWorker\(\(\) => \.\.\.\)/,
    result: "has private fields of Queue",
  },
  "p-queue": {
    instance:
      /queue: EventTarget has state .* comes from the package "p-queue".*perWorker\(\(\) => new (?:\w+\.)?(?:PQueue|default)\(/,
    argument: /EventTarget has state that only this process can see.*perWorker\(\(\) => new PQueue\(/,
    result: "EventTarget has state that only this process can see",
  },
  undici: { instance: "keeps something under Symbol", result: "has private fields of Response" },
  winston: { instance: "is a stream", argument: "is a stream" },
};
