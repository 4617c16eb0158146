import { type BatchWriter, varintLength } from "./batch-writer.ts";
import { RequestField, type StepKind } from "./fields.ts";
import { writeFrame } from "./frame-writer.ts";
import type { PayloadPlace } from "./payload.ts";

/** Field numbers of the `Task` message. */
export const TaskField = {
  id: 1,
  route: 2,
  args: 3,
  sequence: 4,
  timeout: 5,
  caller: 6,
  context: 7,
  pool: 8,
  needs: 9,
  chunked: 10,
  file: 11,
  key: 13,
  items: 14,
} as const;

/** The fields in which a `Task` says where its arguments are. */
export const ARGUMENT_FIELDS = { value: TaskField.args, chunked: TaskField.chunked, file: TaskField.file } as const;
/** Field numbers of the `Step` message. */
export const StepField = { id: 1, kind: 2, value: 3, needs: 4, chunked: 5, file: 6, after: 7 } as const;
/** Field numbers of the `Route` message. */
export const RouteField = {
  number: 1,
  name: 2,
  code: 3,
  needs: 4,
  streams: 5,
  method: 6,
  serializer: 7,
  fresh: 8,
  replaces: 9,
  target: 10,
  encoding: 11,
} as const;
/** Field numbers of the `Hello` message. */
export const HelloField = {
  version: 1,
  minimum: 2,
  callerId: 3,
  lane: 4,
  fileRealm: 5,
  oneKind: 6,
  languages: 7,
  encodings: 8,
  takesLane: 9,
} as const;
/** Field numbers of the `Cancel` message. */
export const CancelField = { id: 1, reason: 2, needs: 3 } as const;
/** Field numbers of the `Unwanted` message. */
export const UnwantedField = { id: 1, message: 2 } as const;
/** Field numbers of the `Abort` message. */
export const AbortField = { id: 1, signal: 2, reason: 3, needs: 4, early: 5 } as const;
/** Field numbers of the `Credit` message. */
export const CreditField = { id: 1, steps: 2 } as const;
/** Field numbers of the `Chunk` message. */
export const ChunkField = { id: 1, data: 2, total: 3 } as const;
/** Field numbers of the `Dependency` message. */
export const DependencyField = { number: 1, hash: 2, data: 3 } as const;
/** Field numbers of the `SharedValue` message. */
export const SharedField = { number: 1, value: 2, chunked: 3, file: 4, missing: 5 } as const;
/** Field number of the number in `Dropped`. */
export const DROPPED_NUMBER = 1;
/** Added to the number of a shared value to give the id of its chunks. No task has such an id. */
export const SHARED_CHUNKS = 2 ** 31;
/** Field numbers of the `PoolReference` message. */
export const PoolReferenceField = { number: 1, description: 2, balancer: 3, needs: 4 } as const;

/** The optional parts of a task besides its routine and arguments. */
export interface TaskExtras {
  readonly timeout?: number | undefined;
  readonly caller?: string | undefined;
  readonly context?: Uint8Array | undefined;
  /** The number of the pool that the call was made through. */
  readonly pool?: number | undefined;
  readonly needs?: readonly number[] | undefined;
  readonly key?: string | undefined;
  /** For a pack: the number of bytes of each call's arguments. */
  readonly items?: readonly number[] | undefined;
}

/** Writes a task without optional parts; its arguments are a part of `source`. */
export function writePlainTask(
  writer: BatchWriter,
  id: number,
  route: number,
  source: Uint8Array,
  start: number,
  end: number,
  sequence: number,
  pool: number,
): void {
  const length = end - start;
  const inner =
    5 +
    varintLength(id) +
    varintLength(route) +
    varintLength(length) +
    length +
    varintLength(sequence) +
    varintLength(pool);
  writer.reserve(inner + 16);
  writer.byte((RequestField.task << 3) | 2);
  writer.varint(inner);
  writer.byte(TaskField.id << 3);
  writer.varint(id);
  writer.byte(TaskField.route << 3);
  writer.varint(route);
  writer.byte((TaskField.args << 3) | 2);
  writer.varint(length);
  writer.range(source, start, end);
  writer.byte(TaskField.sequence << 3);
  writer.varint(sequence);
  writer.byte(TaskField.pool << 3);
  writer.varint(pool);
}

/** Writes a task with its optional parts. */
export function writeTask(
  writer: BatchWriter,
  id: number,
  route: number,
  args: PayloadPlace,
  sequence: number,
  extras: TaskExtras,
): void {
  writeFrame(writer, RequestField.task, [
    undefined,
    id,
    route,
    "bytes" in args ? args.bytes : undefined,
    sequence,
    timeoutOnWire(extras.timeout),
    extras.caller,
    extras.context,
    extras.pool,
    extras.needs,
    "chunked" in args ? args.chunked : undefined,
    "file" in args ? args.file : undefined,
    undefined,
    extras.key,
    extras.items,
  ]);
}

/** Whole milliseconds, never less than `ms`. A time beyond 2^53 means no limit. */
function timeoutOnWire(ms: number | undefined): number | undefined {
  return ms === undefined || ms > Number.MAX_SAFE_INTEGER ? undefined : Math.max(1, Math.ceil(ms));
}

export function writeStep(
  writer: BatchWriter,
  id: number,
  kind: StepKind,
  value: PayloadPlace,
  needs: readonly number[],
  after: number,
): void {
  writeFrame(writer, RequestField.step, [
    undefined,
    id,
    kind,
    "bytes" in value ? value.bytes : undefined,
    needs,
    "chunked" in value ? value.chunked : undefined,
    "file" in value ? value.file : undefined,
    after,
  ]);
}

/** Lets a generator run `steps` more plain steps. */
export function writeCredit(writer: BatchWriter, id: number, steps: number): void {
  const inner = 2 + varintLength(id) + varintLength(steps);
  writer.reserve(inner + 16);
  writer.byte((RequestField.credit << 3) | 2);
  writer.varint(inner);
  writer.byte(CreditField.id << 3);
  writer.varint(id);
  writer.byte(CreditField.steps << 3);
  writer.varint(steps);
}

export function writeCancel(writer: BatchWriter, id: number, reason: Uint8Array, needs: readonly number[]): void {
  writeFrame(writer, RequestField.cancel, [undefined, id, reason, needs]);
}

/** A signal among the arguments of a task was aborted. */
export function writeAbort(
  writer: BatchWriter,
  id: number,
  signal: number,
  reason: Uint8Array,
  needs: readonly number[],
  early: boolean,
): void {
  writeFrame(writer, RequestField.abort, [undefined, id, signal, reason, needs, early ? 1 : undefined]);
}

/** The facts of a routine that a worker is told once for each session. */
export interface RouteFrame {
  readonly number: number;
  readonly name: string;
  readonly code: Uint8Array;
  readonly needs: readonly number[];
  readonly streams: boolean;
  readonly method: boolean;
  readonly serializer?: Uint8Array | undefined;
  /** Each task gets a fresh copy of the function and its captured values. */
  readonly fresh: boolean;
  /** The number of a route that is no longer used; 0 for none. */
  readonly replaces: number;
  /** Names the function instead of `code`. */
  readonly target?: string | undefined;
  /** How its values are encoded, if not in the encoding of this runtime. */
  readonly encoding?: string | undefined;
}

export function writeRoute(writer: BatchWriter, route: RouteFrame): void {
  writeFrame(writer, RequestField.route, [
    undefined,
    route.number,
    route.name,
    route.code,
    route.needs,
    route.streams,
    route.method,
    route.serializer,
    route.fresh,
    route.replaces,
    route.target,
    route.encoding,
  ]);
}

/** Answers a worker that wants a shared value; `place` is undefined when the value is gone. */
export function writeShared(writer: BatchWriter, number: number, place: PayloadPlace | undefined): void {
  writeFrame(writer, RequestField.shared, [
    undefined,
    number,
    place !== undefined && "bytes" in place ? place.bytes : undefined,
    place !== undefined && "chunked" in place ? place.chunked : undefined,
    place !== undefined && "file" in place ? place.file : undefined,
    place === undefined,
  ]);
}

/** The value that was announced under this number is gone. */
export function writeDropped(writer: BatchWriter, number: number): void {
  writeFrame(writer, RequestField.dropped, [undefined, number]);
}

export function writePoolReference(
  writer: BatchWriter,
  number: number,
  description: Uint8Array,
  balancer: Uint8Array | undefined,
  needs: readonly number[],
): void {
  writeFrame(writer, RequestField.pool, [undefined, number, description, balancer, needs]);
}

/** The first message of a session. */
export interface Hello {
  readonly version: number;
  readonly minimum: number;
  readonly callerId: string;
  readonly lane: number;
  /** Empty when the caller shares no files. */
  readonly fileRealm?: string;
  /** The caller wants messages with frames of one kind each. */
  readonly oneKind?: boolean;
  /** The languages of functions that the caller accepts. */
  readonly languages?: readonly string[];
  /** The value encodings that the caller understands. */
  readonly encodings?: readonly string[];
  /** The caller can connect to a lane. */
  readonly takesLane?: boolean;
}

export function writeHello(writer: BatchWriter, hello: Hello): void {
  writeFrame(writer, RequestField.hello, [
    undefined,
    hello.version,
    hello.minimum,
    hello.callerId,
    hello.lane,
    hello.fileRealm,
    hello.oneKind,
    hello.languages,
    hello.encodings,
    hello.takesLane,
  ]);
}

/** Names a task that was cancelled in an earlier message of the session, counted from 1, and has not ended. */
export function writeUnwanted(writer: BatchWriter, id: number, message: number): void {
  writeFrame(writer, RequestField.unwanted, [undefined, id, message]);
}
