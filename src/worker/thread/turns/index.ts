export { FairInbox, SessionInbox } from "./fair-inbox.ts";
export type { TurnTaker } from "./fair-ring.ts";
export { LaterTurns, SLICE_MS, TimeSlice } from "./later-turns.ts";
export { PaceMeter } from "./pace-meter.ts";
export { Parties, type Party } from "./parties.ts";
export { RestingGenerators } from "./resting-generators.ts";
export { TaskOccupancy } from "./task-occupancy.ts";
export { TaskParking, type TaskParkingOptions } from "./task-parking.ts";
export { callObserver, wakeToClose } from "./task-turns.ts";
