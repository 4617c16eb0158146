/** The protocol version that this build speaks. */
export const PROTOCOL_VERSION = 1;

/** The oldest protocol version that this build accepts from a peer. */
export const MINIMUM_PROTOCOL_VERSION = 1;

/** The language of a worker that names none. */
export const DEFAULT_LANGUAGE = "node";

/** The value encoding of a peer, or of a route, that names none. */
export const DEFAULT_ENCODING = "wool";

/** The languages of the functions that workers of this package run. */
export const LANGUAGES: readonly string[] = Object.freeze([DEFAULT_LANGUAGE]);

/** The value encodings that this build understands. */
export const ENCODINGS: readonly string[] = Object.freeze([DEFAULT_ENCODING, "json"]);

/** The version of the package, as advertised by workers. */
export const PACKAGE_VERSION = "0.1.0";

/**
 * Says why a worker that advertises this version of the package is not tried; undefined when it is. Versions that
 * differ in their first non-zero number speak different protocols. A text that is not a version is accepted.
 */
export function versionProblem(version: string): string | undefined {
  const theirs = compatibilityOf(version);
  if (theirs === undefined || theirs === compatibilityOf(PACKAGE_VERSION)) return undefined;
  return `it has version ${version} of wool-ts and this process ${PACKAGE_VERSION}: install the same version on both sides`;
}

function compatibilityOf(version: string): string | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+(?:[-+].*)?$/.exec(version) ?? [];
  return major === "0" ? `0.${minor}` : major;
}

/** Whether this build speaks a protocol version. */
export function isSpoken(version: number): boolean {
  return version >= MINIMUM_PROTOCOL_VERSION && version <= PROTOCOL_VERSION;
}

/** Why this worker cannot talk to a caller of these versions, or `undefined` when it can. */
export function versionConflict(version: number, minimum: number): string | undefined {
  if (version >= MINIMUM_PROTOCOL_VERSION && minimum <= PROTOCOL_VERSION) return undefined;
  return (
    `the caller speaks protocol version ${version} (accepts ${minimum} and later), ` +
    `this worker speaks ${PROTOCOL_VERSION} (accepts ${MINIMUM_PROTOCOL_VERSION} and later): ` +
    "install the same version of wool-ts on both sides"
  );
}
