export type { CallCarrier } from "./call-carrier.ts";
export {
  addOpenPool,
  type CallContext,
  type CallObserver,
  currentCallContext,
  extendCallContext,
  isInTaskThread,
  isOutsideTasks,
  markTaskThread,
  removeOpenPool,
  runInCallContext,
} from "./call-context.ts";
export { CALL_CHECKS, type CallOptions, type PoolLike, type RoutineOptions } from "./options.ts";
export { disposeThreadValues, keepForThread, type PerWorker, perWorker } from "./per-worker.ts";
export type { Route } from "./route.ts";
export {
  type AsyncFunction,
  type AsyncGeneratorFunctionLike,
  type AsyncMethod,
  type FunctionGiving,
  type MethodContext,
  type Routine,
  type RoutineDecorator,
  type RoutineOf,
  routine,
  type StreamRoutine,
  type TargetArguments,
  type TargetOptions,
  type TargetRoutine,
} from "./routine.ts";
export { argumentsOf, dispatchThrough, failingStream, requireFunctionRoutine } from "./routine-object.ts";
export { routineSpecOf } from "./routine-registry.ts";
export type { RoutineSpec } from "./routine-spec.ts";
export { isRuntimeLine, mapSources, setStack, trimStack } from "./stack-lines.ts";
export { currentTask, type Task, type TaskRecord } from "./task.ts";
export type { TaskCost } from "./task-cost.ts";
