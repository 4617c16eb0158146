/** What a task thread runs first. This file is always CommonJS. */
import { scriptLoader } from "./script-loader.ts";
import { THREAD_CONDITION } from "./shared/index.ts";

// Programs that tasks start are not task threads.
process.execArgv = process.execArgv.filter((option) => option !== THREAD_CONDITION);
// A promise: it waits for its configuration. If it fails, the thread ends with the error.
void scriptLoader(__dirname, "thread", require)("thread-service.cjs");
