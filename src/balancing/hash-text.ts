/**
 * A 32-bit hash of a text, the same in every process and version: callers that do not know of each other agree on it.
 * FNV-1a over the UTF-16 code units, then the finalizer of MurmurHash3, without which similar texts stay close together.
 */
export function hashText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
