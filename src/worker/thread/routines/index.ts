export { EarlySteps } from "./early-steps.ts";
export { GeneratorRun, type GeneratorTurns, isAwaited } from "./generator-run.ts";
export { RemoteRoutine } from "./remote-routine.ts";
