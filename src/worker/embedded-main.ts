/** A whole worker in one file, process and task threads, for programs that bundle the runtime. */
import { isMainThread } from "node:worker_threads";
import { useWorkerFile } from "./host/index.ts";
import { startThreads } from "./service/loading-thread.ts";

useWorkerFile(import.meta.url);
if (isMainThread) {
  startThreads(process.argv[2] ?? "", new URL(import.meta.url));
  await import("./service/process-service.ts");
} else await import("./thread/thread-service.ts");
