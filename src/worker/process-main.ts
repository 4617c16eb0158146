/**
 * What a worker process runs first. Its task threads take longest to start, so nothing else is loaded before they are: not
 * even the loader of kept scripts. This file is always CommonJS.
 */
import { sep } from "node:path";
import { runScript, scriptLoader } from "./script-loader.ts";
import * as loadingThread from "./service/loading-thread.ts";

loadingThread.startThreads(process.argv[2] ?? "", `${__dirname}${sep}thread-main.cjs`);
const load = scriptLoader(__dirname, "process", require);
// The service takes the threads from this instance.
const provide = (_exports: unknown, _require: unknown, module: { exports: unknown }): void => {
  module.exports = loadingThread;
};
runScript(provide, `${__dirname}${sep}loading-thread.cjs`, __dirname, load, require);
load("process-service.cjs");
