/** The protocol version that this build speaks. */
export const PROTOCOL_VERSION = 1;

/** The oldest protocol version that this build accepts from a peer. */
export const MINIMUM_PROTOCOL_VERSION = 1;

/** The version of the package, as advertised by workers. */
export const PACKAGE_VERSION = "0.1.0";

/** Why this worker cannot talk to a caller of these versions, or `undefined` when it can. */
export function versionConflict(version: number, minimum: number): string | undefined {
  if (version >= MINIMUM_PROTOCOL_VERSION && minimum <= PROTOCOL_VERSION) return undefined;
  return (
    `the caller speaks protocol version ${version} (accepts ${minimum} and later), ` +
    `this worker speaks ${PROTOCOL_VERSION} (accepts ${MINIMUM_PROTOCOL_VERSION} and later): ` +
    "install the same version of wool-ts on both sides"
  );
}
