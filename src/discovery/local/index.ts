export { LocalDiscovery, type LocalDiscoveryOptions } from "./local-discovery.ts";
