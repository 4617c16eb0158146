export { LanDiscovery, type LanDiscoveryOptions } from "./lan-discovery.ts";
