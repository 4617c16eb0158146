export { BoundedMap } from "./bounded-map.ts";
export { type ChangeCheck, entriesOf, watchEntries, watchProperties } from "./change-check.ts";
export { type CodeData, INSERTED, isRecord, isStringList, toCodeData, toPlain, withoutAsync } from "./code-data.ts";
export { isNotedConstructor, latestConstructors, noteConstructor } from "./constructors.ts";
export { contentHash, dependencyOf, hashOfFiles } from "./content-hash.ts";
export { adopt, identified, identify, identityOf, isOwnId, PortableIds, processId } from "./identity.ts";
export { MEMBER_ROLES, type MemberPlace, notedPlace, noteMembers, notePlace } from "./member-places.ts";
export { type ModulePattern, override, overrideFor, overridesVersion } from "./overrides.ts";
export { applyIntegrity, defineDescribed, describedKeys, describeProperties, integrityOf } from "./own-properties.ts";
export {
  type CodeInstance,
  noteRevived,
  type PristineClass,
  type PrivateAccess,
  type RawInstance,
  type RevivedSource,
  revivedSource,
} from "./revived.ts";
export {
  Cell,
  IS_BUNDLED,
  loadRuntimeExports,
  OWN_URL,
  registerRuntimeExports,
  registerRuntimeExportsLater,
  runtimeExport,
  runtimeNameOf,
} from "./runtime-exports.ts";
export {
  type Assembled,
  byReference,
  type Dependency,
  type Dismantled,
  exportName,
  isUserModule,
  PartsList,
  type PlainData,
  type PrivateState,
  ShippingError,
  type ShippingPolicy,
} from "./shipment.ts";
export { type AnyFunction, isClass, isFunction, sourceTextOf, titleOfFunction } from "./source-text.ts";
export { isWrap, registerWrapping, type Wrapped, wrappedBy } from "./wrapping.ts";
