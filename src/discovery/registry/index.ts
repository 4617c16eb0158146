export { RegistryDiscovery, type RegistryEvents, type RegistrySession } from "./registry-discovery.ts";
export { type RegistryTls, readRegistryTls } from "./registry-tls.ts";
