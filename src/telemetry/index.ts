export { emitWorkerEvent, events, type WorkerEvent, type WorkerEventType } from "./events.ts";
