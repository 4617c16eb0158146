import type { Call } from "../call/index.ts";
import type { Dependency } from "../functions/index.ts";

/** What a frame has besides its largest field. */
const FRAME_OVERHEAD = 1024;

const sizes = new WeakMap<Dependency, number>();

/**
 * How many bytes the largest frame of a call has that cannot be cut: code, captured values, or the context next to arguments
 * of `inlineBytes` at most.
 */
export function largestPiece({ route, extras }: Call, inlineBytes: number): number {
  const dependencies = [...route.dependencies, ...(extras?.dependencies ?? [])];
  const serializer = route.serializer?.length ?? 0;
  const task = inlineBytes + (extras?.context?.length ?? 0);
  return Math.max(route.code.length + serializer, task, ...dependencies.map(sizeOf)) + FRAME_OVERHEAD;
}

function sizeOf(dependency: Dependency): number {
  let size = sizes.get(dependency);
  if (size === undefined) {
    size = Buffer.byteLength(JSON.stringify(dependency.data));
    sizes.set(dependency, size);
  }
  return size;
}
