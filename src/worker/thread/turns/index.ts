export { FairInbox, SessionInbox } from "./fair-inbox.ts";
export { PaceMeter } from "./pace-meter.ts";
export { TaskOccupancy } from "./task-occupancy.ts";
export { TaskParking, type TaskParkingOptions } from "./task-parking.ts";
export { callObserver, generatorTurns, restGenerator, wakeToClose } from "./task-turns.ts";
