export {
  areTasksObserved,
  type EventOf,
  type EventSelector,
  emitTaskEvent,
  emitWorkerEvent,
  events,
  type TaskEvent,
  type TaskEventType,
  type TaskOutcome,
  type WorkerEvent,
  type WorkerEventType,
} from "./events.ts";
