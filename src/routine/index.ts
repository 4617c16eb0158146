export type { Dispatcher } from "./dispatcher.ts";
export {
  addOpenDispatcher,
  type CallObserver,
  currentFrame,
  type Frame,
  isBesidesTasks,
  markTaskThread,
  removeOpenDispatcher,
  runInFrame,
  runWithFrame,
} from "./frame.ts";
export { CALL_CHECKS, type CallOptions, type RoutineOptions } from "./options.ts";
export type { Route } from "./route.ts";
export {
  dispatchThrough,
  type Routine,
  type RoutineDecorator,
  type RoutineOf,
  requireFunctionRoutine,
  routine,
  type StreamRoutine,
} from "./routine.ts";
export type { AnyFunction, RoutineSpec } from "./routine-spec.ts";
export { isRuntimeFrame, setStack, trimStack } from "./runtime-frames.ts";
export { currentTask, type Task } from "./task.ts";
