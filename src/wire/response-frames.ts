import { type BatchWriter, varintLength } from "./batch-writer.ts";
import { ResponseField } from "./fields.ts";
import { writeFrame } from "./frame-writer.ts";
import type { PayloadPlace } from "./payload.ts";

/**
 * Field numbers of `Result`, `Yielded` and `Raised`. Only `Yielded` has `control`, only `Raised` has `byRuntime`, and
 * `Yielded` has no `item`.
 * Only `Result` has `items`.
 */
export const OutcomeField = {
  id: 1,
  value: 2,
  needs: 3,
  chunked: 4,
  file: 5,
  control: 6,
  byRuntime: 6,
  item: 7,
  items: 8,
} as const;
/** Field numbers of the `Rejected` message. */
export const RejectedField = { id: 1, status: 2, message: 3, codeWanted: 6 } as const;
/** Field numbers of the `Welcome` message. */
export const WelcomeField = {
  version: 1,
  workerUid: 2,
  lanes: 3,
  maxConcurrency: 4,
  sharesFiles: 5,
  oneKind: 6,
  languages: 7,
  encodings: 8,
  laneSocket: 9,
  laneTicket: 10,
  takesPacks: 11,
} as const;
/** Field numbers of the `Wanted` message. */
export const WantedField = { number: 1, withoutFile: 2 } as const;
/** Field numbers of `Pace`. */
export const PaceField = { taskUs: 1, costUs: 2 } as const;
/** Field numbers of `ExecutorLost`. */
export const LostField = { reason: 1, task: 2, taken: 3 } as const;

/** The frames that carry the outcome of a task or of one of its steps. */
export type OutcomeFrame = typeof ResponseField.result | typeof ResponseField.yielded | typeof ResponseField.raised;

/**
 * Writes the outcome of a task or of one of its steps. `flag`: `control` of `Yielded`, `by_runtime` of `Raised`.
 * `item`: the call of a pack that it belongs to, from 1.
 */
export function writeOutcome(
  writer: BatchWriter,
  frame: OutcomeFrame,
  id: number,
  value: PayloadPlace,
  needs: readonly number[],
  flag: boolean,
  item = 0,
): void {
  writeFrame(writer, frame, [
    undefined,
    id,
    "bytes" in value ? value.bytes : undefined,
    needs,
    "chunked" in value ? value.chunked : undefined,
    "file" in value ? value.file : undefined,
    flag,
    item,
  ]);
}

/** Writes the outcome of a task, or of one call of a pack: `item`, from 1. It is small and has no dependencies. */
export function writeSmallOutcome(
  writer: BatchWriter,
  frame: OutcomeFrame,
  id: number,
  value: Uint8Array,
  item: number,
): void {
  const itemLength = item === 0 ? 0 : 1 + varintLength(item);
  const inner = 2 + varintLength(id) + varintLength(value.length) + value.length + itemLength;
  writer.reserve(inner + 16);
  writer.byte((frame << 3) | 2);
  writer.varint(inner);
  writer.byte(OutcomeField.id << 3);
  writer.varint(id);
  writer.byte((OutcomeField.value << 3) | 2);
  writer.varint(value.length);
  writer.bytes(value);
  if (item === 0) return;
  writer.byte(OutcomeField.item << 3);
  writer.varint(item);
}

/**
 * Writes the results of calls of a pack that follow each other. They are small and have no dependencies.
 *
 * @param item - the number of the first of these calls in its pack, from 1
 * @param values - the results, one after the other
 * @param lengths - how many bytes each has
 */
export function writeResults(
  writer: BatchWriter,
  id: number,
  item: number,
  values: Uint8Array,
  lengths: readonly number[],
): void {
  const { result } = ResponseField;
  writeFrame(writer, result, [undefined, id, values, undefined, undefined, undefined, undefined, item, lengths]);
}

export function writeAccepted(writer: BatchWriter, id: number): void {
  const inner = 1 + varintLength(id);
  writer.reserve(inner + 8);
  writer.byte((ResponseField.accepted << 3) | 2);
  writer.varint(inner);
  writer.byte(0x08);
  writer.varint(id);
}

/** Why a task was not run. */
export interface Rejection {
  readonly status: number;
  readonly message: string;
  /** Hashes of modules that the worker does not have. */
  readonly codeWanted?: readonly string[];
}

export function writeRejected(writer: BatchWriter, id: number, rejection: Rejection): void {
  writeFrame(writer, ResponseField.rejected, [
    undefined,
    id,
    rejection.status,
    rejection.message,
    undefined,
    undefined,
    rejection.codeWanted?.join(" "),
  ]);
}

/** The worker's answer to a hello. */
export interface Welcome {
  readonly version: number;
  readonly workerUid: string;
  readonly lanes: number;
  readonly maxConcurrency: number;
  readonly sharesFiles: boolean;
  /** The worker wants messages with frames of one kind each. */
  readonly oneKind?: boolean;
  /** The languages of the functions that it runs. */
  readonly languages?: readonly string[];
  /** The value encodings that it understands. */
  readonly encodings?: readonly string[];
  /** The name of the socket of the session's lane, in the directory of the worker's own socket; empty for none. */
  readonly laneSocket?: string;
  /** The first message to send there. */
  readonly laneTicket?: string;
  /** The worker accepts packs. */
  readonly takesPacks?: boolean;
}

export function writeWelcome(writer: BatchWriter, welcome: Welcome): void {
  writeFrame(writer, ResponseField.welcome, [
    undefined,
    welcome.version,
    welcome.workerUid,
    welcome.lanes,
    welcome.maxConcurrency,
    welcome.sharesFiles,
    welcome.oneKind,
    welcome.languages,
    welcome.encodings,
    welcome.laneSocket,
    welcome.laneTicket,
    welcome.takesPacks,
  ]);
}

/** Asks for a shared value. `withoutFile`: not through a file this time. */
export function writeWanted(writer: BatchWriter, number: number, withoutFile: boolean): void {
  writeFrame(writer, ResponseField.wanted, [undefined, number, withoutFile]);
}

/**
 * Tells that the task thread ended.
 *
 * @param taken - how many messages of the session it had begun to read, the hello counted
 * @param task - the id of the task whose code ended it
 */
export function writeExecutorLost(writer: BatchWriter, reason: string, taken: number, task?: number): void {
  writeFrame(writer, ResponseField.executorLost, [undefined, reason, task === undefined ? 0 : task + 1, taken]);
}

/** Tells how long a task keeps the thread busy, and how much of that is the task's own cost, in microseconds. */
export function writePace(writer: BatchWriter, taskUs: number, costUs: number): void {
  const inner = 2 + varintLength(taskUs) + varintLength(costUs);
  writer.reserve(inner + 8);
  writer.byte((ResponseField.pace << 3) | 2);
  writer.varint(inner);
  writer.byte(PaceField.taskUs << 3);
  writer.varint(taskUs);
  writer.byte(PaceField.costUs << 3);
  writer.varint(costUs);
}
