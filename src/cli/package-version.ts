import { createRequire } from "node:module";

/** The version of this package. */
export function packageVersion(): string {
  // Not through a module that workers use too: the build would then make one more file for them to load.
  const manifest: unknown = createRequire(import.meta.url)("wool-ts/package.json");
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "";
}
