import { createRequire } from "node:module";

/** The version of this package. */
export function packageVersion(): string {
  // Not by an import of code that workers use as well: the build would put that into one more file for them to load.
  const manifest: unknown = createRequire(import.meta.url)("wool-ts/package.json");
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "";
}
