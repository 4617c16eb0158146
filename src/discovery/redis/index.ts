export { RegistryDiscovery, type RegistryTls } from "../registry/index.ts";
export { RedisDiscovery, type RedisDiscoveryOptions } from "./redis-discovery.ts";
