import type { Call } from "./call.ts";
import { CallPack, callsPerPack, MOST_PACK_BYTES, type PackSink } from "./call-pack.ts";
import { rejectAtCallSite } from "./remote-failure.ts";

/**
 * Most calls in a pack. The worker sends results between packs, so that its caller has something to do meanwhile: with 100
 * calls in flight packs of 8, 16 and 32 are as fast within the noise, with 1000 in flight packs of 32 and 64 do 1.1x as many
 * calls as those of 16.
 */
const MOST_CALLS = 32;
/** Fewest calls that are worth a pack. */
const FEWEST_CALLS = 4;

/** Tells the callers of calls that travel together. */
class JoinedCallers implements PackSink {
  readonly #resolvers: readonly ((value: unknown) => void)[];

  constructor(resolvers: readonly ((value: unknown) => void)[]) {
    this.#resolvers = resolvers;
  }

  succeeded(first: number, values: readonly unknown[]): void {
    for (let index = 0; index < values.length; index++) this.#resolvers[first + index]?.(values[index]);
  }

  failed(index: number, failure: unknown): void {
    const resolve = this.#resolvers[index];
    if (resolve !== undefined) rejectAtCallSite(resolve, undefined, failure);
  }
}

/**
 * Joins waiting calls that follow each other into packs, where they take next to no time and differ in their arguments only.
 * Returns the packs, and the calls that travel alone, in order. A pack costs caller and worker little more than a call: 1000
 * trivial calls in flight do 1.6x as many calls/s, 100 do 1.3x, with 0.6x and 0.75x of the processor time for each.
 */
export function packCalls(calls: readonly Call[]): readonly Call[] {
  if (calls.length < FEWEST_CALLS) return calls;
  const packed: Call[] = [];
  for (let first = 0; first < calls.length; ) {
    const end = findEnd(calls, first);
    if (end - first >= FEWEST_CALLS) packed.push(join(calls, first, end));
    else for (let i = first; i < end; i++) packed.push(calls[i] as Call);
    first = end;
  }
  return packed;
}

/** The end of the longest pack that begins with this call. */
function findEnd(calls: readonly Call[], first: number): number {
  const head = calls[first] as Call;
  const end = head.isPlain ? Math.min(calls.length, first + callsPerPack(head.route, MOST_CALLS)) : first;
  for (let i = first + 1; i < end; i++) {
    if (!follows(calls[i] as Call, calls[i - 1] as Call, head)) return i;
  }
  return Math.max(first + 1, end);
}

/** Whether a call can be in a pack behind `last`. The arguments of a pack are side by side, and its tasks are numbered. */
function follows(call: Call, last: Call, head: Call): boolean {
  return (
    call.route === head.route &&
    call.sequence === last.sequence + 1 &&
    call.argsBuffer === head.argsBuffer &&
    call.argsStart === last.argsEnd &&
    call.argsEnd - head.argsStart <= MOST_PACK_BYTES &&
    call.isPlain &&
    call.pool === head.pool &&
    call.owner === head.owner &&
    call.remake === head.remake
  );
}

function join(calls: readonly Call[], first: number, end: number): Call {
  const head = calls[first] as Call;
  const lengths: number[] = [];
  for (let i = first; i < end; i++) {
    const { argsStart, argsEnd } = calls[i] as Call;
    lengths.push(argsEnd - argsStart);
  }
  const resolvers: ((value: unknown) => void)[] = [];
  const joined = head.joined(new CallPack(lengths, new JoinedCallers(resolvers), true));
  joined.setArgs(head.args.buffer, head.argsStart, (calls[end - 1] as Call).argsEnd);
  for (let i = first; i < end; i++) resolvers.push((calls[i] as Call).handOver());
  return joined;
}
