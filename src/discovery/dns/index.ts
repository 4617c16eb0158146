export { DnsDiscovery, type DnsDiscoveryOptions } from "./dns-discovery.ts";
