/** The code of a system error, such as `ENOENT`, if that is what `error` is. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
