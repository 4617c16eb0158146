/**
 * What a worker process runs first. Its task threads take longest to start, so nothing else is loaded before they are: not
 * even the loader of kept scripts, which takes 6 ms.
 */
import { createRequire } from "node:module";
import { scriptLoader } from "./script-loader.ts";

const require = createRequire(import.meta.url);
const { startThreads } = require("./loading-thread.cjs") as typeof import("./service/loading-thread.ts");
startThreads(process.argv[2] ?? "", new URL("thread-main.cjs", import.meta.url));
scriptLoader(import.meta.url, "process")("process-service.cjs");
