export { EtcdDiscovery, type EtcdDiscoveryOptions } from "./etcd-discovery.ts";
