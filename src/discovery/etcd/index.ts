export { RegistryDiscovery, type RegistryTls } from "../registry/index.ts";
export { EtcdDiscovery, type EtcdDiscoveryOptions } from "./etcd-discovery.ts";
