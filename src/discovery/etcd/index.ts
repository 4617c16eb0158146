export { RegistryDiscovery } from "../registry-discovery.ts";
export type { RegistryTls } from "../registry-tls.ts";
export { EtcdDiscovery, type EtcdDiscoveryOptions } from "./etcd-discovery.ts";
