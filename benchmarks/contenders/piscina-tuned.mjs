import { open as openPiscina } from "./piscina.mjs";

export const open = (options) => openPiscina({ ...options, concurrentTasksPerWorker: 50 });
