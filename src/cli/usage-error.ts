/** The command line asks for something that cannot be done. The message says what, and what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
