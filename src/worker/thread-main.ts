/** What a task thread runs first. */
import { keepCompiledCode } from "./compile-cache.ts";
import { scriptLoader } from "./kept-scripts.ts";
import { THREAD_CONDITION } from "./shared/index.ts";

// Programs that tasks start are not task threads.
process.execArgv = process.execArgv.filter((option) => option !== THREAD_CONDITION);
keepCompiledCode(import.meta.url);
await scriptLoader(import.meta.url, "thread")("thread-service.cjs");
