/** What a worker process runs first. Its task threads take longest to start, so nothing else is loaded before they are. */
import { keepCompiledCode } from "./compile-cache.ts";
import { scriptLoader } from "./kept-scripts.ts";

const load = scriptLoader(import.meta.url, "process");
const { startThreads } = load("loading-thread.cjs") as typeof import("./service/loading-thread.ts");
startThreads(process.argv[2] ?? "", new URL("thread-main.js", import.meta.url));
keepCompiledCode(import.meta.url);
load("process-service.cjs");
