export { RegistryDiscovery } from "../registry-discovery.ts";
export type { RegistryTls } from "../registry-tls.ts";
export { RedisDiscovery, type RedisDiscoveryOptions } from "./redis-discovery.ts";
