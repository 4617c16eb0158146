/** What a worker process runs first. Its task threads take longest to start, so nothing else is loaded before they are. */
import { keepCompiledCode } from "./compile-cache.ts";
import { startThreads } from "./service/loading-thread.ts";

startThreads(process.argv[2] ?? "");
keepCompiledCode(import.meta.url);
await import("./service/process-service.ts");
