/** Smaller pieces of memory are of no concern. */
const LARGE_BYTES = 64 * 1024;
/** Just under the largest that counts as a lesson to the allocator. */
const LESSON_BYTES = 32 * 1024 * 1024 - 64 * 1024;

let taught = false;

/**
 * Uninitialised memory of its own for a large piece of data, which is to be overwritten whole.
 *
 * The C library gives freed memory back to the system once more than twice the size of the largest piece that it has
 * seen freed is unused, and getting a page again costs several times what copying into it does. So it is shown one
 * large piece, which is freed without having been touched: from then on it keeps up to 64 MB for what comes next.
 */
export function allocateLarge(length: number): Buffer<ArrayBuffer> {
  if (!taught && length >= LARGE_BYTES) {
    taught = true;
    Buffer.allocUnsafeSlow(LESSON_BYTES);
  }
  return Buffer.allocUnsafeSlow(length);
}
