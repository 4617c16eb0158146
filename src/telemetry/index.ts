export {
  areTasksObserved,
  type EventOf,
  type EventSelector,
  emitWorkerEvent,
  events,
  type TaskEvent,
  type TaskEventType,
  type TaskOutcome,
  type WorkerEvent,
  type WorkerEventType,
} from "./events.ts";
export { TaskStages } from "./task-stages.ts";
