/** What a task thread runs first. */
import { keepCompiledCode } from "./compile-cache.ts";

keepCompiledCode(import.meta.url);
await import("./thread/thread-service.ts");
