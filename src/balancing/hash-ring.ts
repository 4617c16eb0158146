interface Point {
  readonly hash: number;
  readonly uid: string;
}

/**
 * Workers on a circle of hashes, each at many points. A key belongs to the worker of the first point at or after its own
 * hash: when a worker leaves, only its keys move, and a worker that joins takes only its share.
 */
export class HashRing {
  readonly #pointsEach: number;
  readonly #members = new Set<string>();
  /** Sorted by hash, equal hashes by uid, so that the order does not depend on the order of joining. */
  #points: readonly Point[] = [];

  constructor(pointsEach: number) {
    this.#pointsEach = pointsEach;
  }

  /** Adds the workers of `uids` that are new and removes those that are gone. All other points stay as they are. */
  update(uids: Pick<ReadonlySet<string>, "has" | "keys">): void {
    const gone = new Set<string>();
    for (const uid of this.#members) if (!uids.has(uid)) gone.add(uid);
    const fresh: Point[] = [];
    for (const uid of uids.keys()) {
      if (this.#members.has(uid)) continue;
      this.#members.add(uid);
      for (let i = 0; i < this.#pointsEach; i++) fresh.push({ hash: hashText(uid, i), uid });
    }
    for (const uid of gone) this.#members.delete(uid);
    const kept = gone.size === 0 ? this.#points : this.#points.filter(({ uid }) => !gone.has(uid));
    this.#points = fresh.length === 0 ? kept : merge(kept, fresh.sort(compare));
  }

  /** Every worker once, starting with the owner of the key. */
  *clockwise(key: string): Iterable<string> {
    const points = this.#points;
    const start = lowerBound(points, hashText(key));
    const seen = new Set<string>();
    for (let i = 0; i < points.length && seen.size < this.#members.size; i++) {
      const { uid } = points[(start + i) % points.length] as Point;
      if (seen.has(uid)) continue;
      seen.add(uid);
      yield uid;
    }
  }
}

function compare(a: Point, b: Point): number {
  if (a.hash !== b.hash) return a.hash - b.hash;
  return a.uid < b.uid ? -1 : Number(a.uid > b.uid);
}

function merge(a: readonly Point[], b: readonly Point[]): Point[] {
  const merged: Point[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i] as Point, b[j] as Point];
    if (compare(left, right) <= 0) {
      merged.push(left);
      i++;
    } else {
      merged.push(right);
      j++;
    }
  }
  while (i < a.length) merged.push(a[i++] as Point);
  while (j < b.length) merged.push(b[j++] as Point);
  return merged;
}

/** The first point at or after a hash. */
function lowerBound(points: readonly Point[], hash: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((points[middle] as Point).hash < hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A 32-bit hash of a text, the same in every process and version: independent callers agree on it. FNV-1a over the
 * UTF-16 code units, then the finalizer of MurmurHash3. Without it, the hashes of similar texts stay close together.
 */
export function hashText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
