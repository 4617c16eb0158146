/** A whole worker in one file, for programs that have the runtime inside of a bundle: its process and its task threads. */
import { isMainThread } from "node:worker_threads";
import { useWorkerFile } from "./host/index.ts";

useWorkerFile(import.meta.url);
if (isMainThread) await import("./service/process-main.ts");
else await import("./thread/thread-main.ts");
