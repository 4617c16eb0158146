import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdHistory, EtcdSession } from "../../src/discovery/etcd/etcd-session.ts";
import { EtcdDiscovery } from "../../src/discovery/etcd/index.ts";
import { LanDiscovery, LocalDiscovery } from "../../src/discovery/index.ts";
import { RedisDiscovery } from "../../src/discovery/redis/index.ts";
import { RedisSession } from "../../src/discovery/redis/redis-session.ts";
import { freePort } from "../../test/support/free-port.ts";
import { startEtcd, startRedis } from "../../test/support/registry-servers.ts";

/** Settings for all sessions. */
const COMMON = { connectTimeout: 5000, user: undefined, tls: undefined };

const split = (address) => ({ host: address.split(":")[0], port: Number(address.split(":")[1]) });

/**
 * The registries. `start` returns the address of a server, and a function that ends it. `open` returns a discovery with
 * the workers of a group. `openBare` returns the client below it, which writes and follows entries and does not know
 * workers. `together`: how many join at once, because each mostly waits for the network.
 */
export const kinds = {
  local: {
    start: async () => {
      const directory = mkdtempSync(join(tmpdir(), "wool-scale-"));
      return { where: directory, end: async () => rmSync(directory, { recursive: true, force: true }) };
    },
    open: (where, group) => new LocalDiscovery(group, { directory: where }),
  },
  etcd: {
    start: () => serverOf(startEtcd),
    open: (where, group) => new EtcdDiscovery({ endpoints: [where], prefix: group }),
    openBare: (where, group, events) =>
      EtcdSession.open(
        { ...COMMON, endpoint: where, prefix: `${group}/`, ttl: 15, history: new EtcdHistory() },
        events,
      ),
  },
  redis: {
    start: () => serverOf(startRedis),
    open: (where, group) => new RedisDiscovery({ address: where, prefix: group }),
    openBare: (where, group, events) =>
      RedisSession.open({ ...COMMON, ...split(where), prefix: group, ttl: 15_000 }, events),
  },
  lan: {
    start: async () => ({ where: String(await freePort()), end: async () => undefined }),
    open: (where, group) => new LanDiscovery(group, { interfaces: ["lo"], port: Number(where) }),
    together: 10,
  },
};

async function serverOf(start) {
  const server = await start();
  return { where: server.address, pid: server.pid, end: () => server[Symbol.asyncDispose]() };
}
