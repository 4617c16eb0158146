import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * The url of the file that this code is in. That is the bundle when a program was bundled; as CommonJS, where
 * `import.meta` is empty, Node tells it in `__filename`.
 */
export const OWN_URL: string =
  typeof import.meta.url === "string"
    ? import.meta.url
    : pathToFileURL(typeof __filename === "string" ? __filename : join(process.cwd(), "program.js")).href;

/** What the build calls the files that this code may be in, and what its source is called. */
const OWN_FILE = /\/(?:wool-[0-9A-Z]{8}\.c?js|wool-worker\.mjs|own-url\.ts)$/;

/** True when a bundler put this code into a file of the user's program. */
export const IS_BUNDLED = !OWN_FILE.test(OWN_URL);
