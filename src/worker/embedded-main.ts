/** A whole worker in one file, process and task threads, for programs that bundle the runtime. */
import { isMainThread } from "node:worker_threads";
import { useWorkerFile } from "./host/index.ts";

useWorkerFile(import.meta.url);
if (isMainThread) await import("./service/process-main.ts");
else await import("./thread/thread-main.ts");
