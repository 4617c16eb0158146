import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Where the effect of each option is tested: file and title. Options that are missing here fail the test below. */
const EFFECTS: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "RoutineOptions.name": ["test/integration/calls/routines.test.ts", "names and lengths are those of the function"],
  "RoutineOptions.timeout": [
    "test/integration/calls/cancellation.test.ts",
    "of the routine holds unless a call has its own",
  ],
  "RoutineOptions.dispatchTimeout": [
    "test/integration/calls/options.test.ts",
    "dispatchTimeout bounds the wait for it",
  ],
  "RoutineOptions.idempotent": ["test/lifecycle/lost-workers.test.ts", "loses nothing when the routine is idempotent"],
  "RoutineOptions.ship": ["src/routine/explanation.test.ts", "travels as its options say"],
  "RoutineOptions.serializer": [
    "test/integration/calls/routines.test.ts",
    "is used for yielded, sent and thrown values",
  ],
  "RoutineOptions.prefetch": [
    "test/integration/streams/streams-prefetch.test.ts",
    "runs that far ahead of next and no farther",
  ],
  "RoutineOptions.needs": [
    "test/integration/calls/nested-bounds.test.ts",
    "goes only to workers that have all of them, from the caller and from tasks",
  ],
  "RoutineOptions.results": [
    "test/integration/calls/results-data.test.ts",
    "for one routine or call, in a pool that accepts everything",
  ],
  "CallOptions.signal": [
    "test/integration/calls/cancellation.test.ts",
    "rejects the call with its reason and tells the task",
  ],
  "CallOptions.pool": ["test/integration/pools/pools.test.ts", "what `with` says, before any scope"],
  "CallOptions.key": ["test/integration/pools/balancers.test.ts", "keeps a key at one worker"],
  "AmbientOptions.dispatchTimeout": [
    "test/integration/calls/context.test.ts",
    "a dispatchTimeout is carried into nested calls",
  ],
  "AmbientOptions.signal": ["test/integration/calls/context.test.ts", "a signal cancels every call of the scope"],
  "ContextVarOptions.default": ["test/integration/calls/context.test.ts", "has its default where nobody has set it"],
  "ContextVarOptions.namespace": ["test/integration/calls/context.test.ts", "is told apart by namespace"],
  "MapOptions.concurrency": ["test/integration/calls/map.test.ts", "bounds what is under way and what is read"],
  "MapOptions.ordered": ["test/integration/calls/map.test.ts", "an unordered one gives what is ready"],
  "MapOptions.onProgress": ["test/integration/calls/map.test.ts", "progress is told after each item"],
  "MapOptions.stopOnError": ["test/integration/calls/map.test.ts", "is left out with stopOnError false"],
  "PoolOptions.size": ["test/integration/pools/pools.test.ts", "with a size there are that many workers"],
  "PoolOptions.tags": [
    "test/integration/pools/discovered-workers.test.ts",
    "tags and filter: those with any of the tags",
  ],
  "PoolOptions.discovery": [
    "test/integration/pools/discovered-workers.test.ts",
    "starts no workers, uses those that there are",
  ],
  "PoolOptions.loadBalancer": ["test/integration/pools/scheduling.test.ts", "round robin takes turns"],
  "PoolOptions.worker": [
    "test/lifecycle/resilient-worker.test.ts",
    "is whole again after each of its workers was killed",
  ],
  "PoolOptions.workerOptions": [
    "test/integration/pools/pools.test.ts",
    "environment, arguments of node and modules to preload",
  ],
  "PoolOptions.credentials": ["test/integration/security/tls.test.ts", "goes to a worker by its identity"],
  "PoolOptions.results": [
    "test/integration/calls/results-data.test.ts",
    "functions and instances of unknown classes are refused: returned, yielded and thrown",
  ],
  "PoolOptions.lease": ["test/integration/pools/discovered-workers.test.ts", "lease: no more than that many"],
  "PoolOptions.filter": [
    "test/integration/pools/discovered-workers.test.ts",
    "tags and filter: those with any of the tags",
  ],
  "PoolOptions.lazy": [
    "test/integration/pools/discovered-workers.test.ts",
    "a %s with lazy %s: connects at the first call, or at the start",
  ],
  "PoolOptions.quorum": ["test/integration/pools/discovered-workers.test.ts", "quorum: waits for that many"],
  "PoolOptions.quorumTimeout": [
    "test/integration/pools/discovered-workers.test.ts",
    "quorumTimeout: gives up after that time",
  ],
  "PoolOptions.maxPending": ["test/integration/calls/options.test.ts", "maxPending bounds the calls of a %s that wait"],
  "WorkerProxyOptions.results": ["test/integration/calls/results-data.test.ts", "for all calls of a proxy"],
  "WorkerProxyOptions.poolUri": [
    "test/integration/pools/proxies.test.ts",
    "in another process reaches the pool by its uri",
  ],
  "WorkerProxyOptions.namespace": ["test/integration/pools/proxies.test.ts", "from a namespace finds workers"],
  "WorkerProxyOptions.discovery": ["test/integration/pools/proxies.test.ts", "follows what its discovery tells"],
  "WorkerProxyOptions.workers": [
    "test/integration/pools/proxies.test.ts",
    "passes over a worker that cannot be reached",
  ],
  "WorkerProxyOptions.loadBalancer": ["test/integration/pools/balancers.test.ts", "serves a proxy as well"],
  "WorkerProxyOptions.lease": ["test/integration/pools/proxies.test.ts", "lease: uses no more workers than that"],
  "WorkerProxyOptions.filter": [
    "test/integration/pools/proxies.test.ts",
    "uses only the workers that its filter lets through",
  ],
  "WorkerProxyOptions.lazy": [
    "test/integration/pools/discovered-workers.test.ts",
    "a %s with lazy %s: connects at the first call, or at the start",
  ],
  "WorkerProxyOptions.quorum": ["test/integration/pools/proxies.test.ts", "quorum: calls wait for that many workers"],
  "WorkerProxyOptions.quorumTimeout": [
    "test/integration/pools/proxies.test.ts",
    "says so when its discovery finds nobody in time",
  ],
  "WorkerProxyOptions.maxPending": [
    "test/integration/calls/options.test.ts",
    "maxPending bounds the calls of a %s that wait",
  ],
  "WorkerProxyOptions.credentials": [
    "test/integration/security/tls.test.ts",
    "is not used by callers with credentials",
  ],
  "WorkerConnectionOptions.credentials": [
    "test/integration/security/tls.test.ts",
    "is asked for its idle time, its health and to stop",
  ],
  "WorkerOptions.tags": ["test/integration/pools/pools.test.ts", "tags and extras are advertised by spawned workers"],
  "WorkerOptions.extra": ["test/integration/pools/pools.test.ts", "tags and extras are advertised by spawned workers"],
  "WorkerOptions.host": [
    "test/integration/pools/pools.test.ts",
    "workers listen on private sockets unless a host is given",
  ],
  "WorkerOptions.port": ["test/integration/calls/options.test.ts", "port is where a worker listens"],
  "WorkerOptions.credentials": [
    "test/integration/security/tls.test.ts",
    "runs nothing for callers without credentials",
  ],
  "WorkerOptions.threads": ["test/integration/pools/scheduling.test.ts", "two threads run two tasks that block"],
  "WorkerOptions.maxConcurrency": [
    "test/integration/pools/scheduling.test.ts",
    "no more tasks run at once than maxConcurrency",
  ],
  "WorkerOptions.authorize": ["test/integration/security/authorize.test.ts", "decides by who the caller is"],
  "WorkerOptions.backpressure": [
    "test/integration/pools/backpressure.test.ts",
    "makes a call go to a worker that takes it",
  ],
  "WorkerOptions.preload": ["test/programs/preload.test.ts", "are paths from the working directory"],
  "WorkerOptions.setup": ["test/integration/pools/setup.test.ts", "runs in each thread before its first task"],
  "WorkerOptions.env": [
    "test/integration/pools/pools.test.ts",
    "environment, arguments of node and modules to preload",
  ],
  "WorkerOptions.execArgv": [
    "test/integration/pools/pools.test.ts",
    "environment, arguments of node and modules to preload",
  ],
  "WorkerOptions.resourceLimits": [
    "test/integration/calls/blocking.test.ts",
    "a task that exhausts its memory ends its thread",
  ],
  "WorkerOptions.shareBudget": [
    "test/integration/values/share.test.ts",
    "bounds what is kept: the least recently used is dropped",
  ],
  "WorkerOptions.proxyPoolTtl": [
    "src/worker/thread/proxy-cache.test.ts",
    "closes a proxy that is not used for its time to live",
  ],
  "WorkerOptions.shutdownGracePeriod": ["test/lifecycle/stopping.test.ts", "is not held up by a task that ignores it"],
  "WorkerOptions.channel": [
    "test/integration/calls/options.test.ts",
    "channel is advertised to callers as it was given",
  ],
  "ChannelOptions.maxMessageBytes": [
    "test/integration/wire/channel-options.test.ts",
    "maxMessageBytes: nothing larger is sent to it",
  ],
  "ChannelOptions.keepaliveInterval": [
    "test/integration/wire/channel-options.test.ts",
    "keepaliveInterval and keepaliveTimeout",
  ],
  "ChannelOptions.keepaliveTimeout": [
    "test/integration/wire/channel-options.test.ts",
    "keepaliveInterval and keepaliveTimeout",
  ],
  "ChannelOptions.maxConcurrency": ["test/integration/wire/channel-options.test.ts", "threads and maxConcurrency are"],
  "ChannelOptions.threads": ["test/integration/wire/channel-options.test.ts", "threads and maxConcurrency are"],
  "ChannelOptions.compression": ["test/integration/wire/channel-options.test.ts", "compression: what travels shrinks"],
  "RestartOptions.firstDelay": ["src/worker/host/restart-policy.test.ts", "waits twice as long after each crash"],
  "RestartOptions.longestDelay": ["src/worker/host/restart-policy.test.ts", "up to the longest delay"],
  "RestartOptions.crashLimit": ["src/worker/host/restart-policy.test.ts", "gives up at the limit"],
  "RestartOptions.window": ["src/worker/host/restart-policy.test.ts", "does not count crashes of long ago"],
  "WorkerOptions.limits": ["test/integration/security/limits.test.ts", "loses its connection when it goes on not to"],
  "PoolOptions.limits": ["test/integration/security/hostile-workers.test.ts", "limits of a pool hold for its workers"],
  "WorkerProxyOptions.limits": [
    "test/integration/security/hostile-workers.test.ts",
    "limits of a proxy hold for its workers",
  ],
  "ConsistentHashOptions.points": ["src/balancing/load-balancers.test.ts", "works with few points as well"],
  "PowerOfTwoOptions.random": ["src/balancing/load-balancers.test.ts", "draws every pair"],
  "SendOptions.timeout": ["src/proxy/scheduling/dispatched-placement.test.ts", "or has no room in time"],
  "DispatchOptions.context": [
    "src/proxy/scheduling/dispatched-placement.test.ts",
    "gets each task with the workers and the time left",
  ],
  "DispatchOptions.timeout": [
    "src/proxy/scheduling/dispatched-placement.test.ts",
    "gets each task with the workers and the time left",
  ],
  "ExplainOptions.holder": ["src/routine/explanation.test.ts", "lets a method that uses private names be explained"],
  "ExplainOptions.name": [
    "src/routine/explanation.test.ts",
    "calls a function without a name by the one that is given",
  ],
  "LocalDiscoveryOptions.directory": [
    "src/discovery/local/local-discovery.test.ts",
    "lives in a directory of the caller's",
  ],
  "LocalDiscoveryOptions.pollInterval": [
    "src/discovery/local/local-discovery-processes.test.ts",
    "drops the workers of a publisher that is killed",
  ],
  "OpenDiscoveryOptions.credentials": [
    "test/integration/pools/discovery-urls.test.ts",
    "learns from workers with TLS, given the credentials of the pool",
  ],
  "StaticDiscoveryOptions.credentials": [
    "test/integration/pools/discovery-urls.test.ts",
    "learns from workers with TLS, given credentials",
  ],
  "StaticDiscoveryOptions.secure": ["src/discovery/static-discovery.test.ts", "takes what the filter lets pass"],
  "LanDiscoveryOptions.interfaces": [
    "src/discovery/lan/lan-discovery.test.ts",
    "says so where there is no network at all",
  ],
  "LanDiscoveryOptions.ttl": ["src/discovery/lan/lan-discovery.test.ts", "believes them for their time only"],
  "LanDiscoveryOptions.port": [
    "src/discovery/lan/lan-discovery.test.ts",
    "asks for workers, and believes them for their time only",
  ],
  "ProviderOptions.identity": ["test/integration/security/tls.test.ts", "goes to a worker by its identity"],
  "ProviderOptions.reloadable": [
    "src/security/worker-credentials-provider.test.ts",
    "asks it once when it is not reloadable",
  ],
  "ConnectionLimits.maxLiveTasks": ["test/integration/security/limits.test.ts", "tasks that do not end"],
  "ConnectionLimits.maxUnreadBytes": [
    "test/integration/security/limits.test.ts",
    "has no more tasks started, and keeps its connection",
  ],
  "ConnectionLimits.stallTimeout": [
    "test/integration/security/limits.test.ts",
    "loses its connection when it goes on not to",
  ],
  "ConnectionLimits.maxUnfinishedBytes": ["test/integration/security/limits.test.ts", "a payload that is too large"],
  "ConnectionLimits.maxUnfinishedPayloads": [
    "test/integration/security/limits.test.ts",
    "payloads that are never finished",
  ],
  "ConnectionLimits.maxAnnouncements": ["test/integration/security/limits.test.ts", '"routines"'],
  "ConnectionLimits.maxAnnouncedBytes": ["test/integration/security/limits.test.ts", "bytes of pools"],
  "ConnectionLimits.maxWaitingBytes": ["test/integration/security/limits.test.ts", "names of tasks that do not end"],
  "ConnectionLimits.maxEarlyFrames": ["test/integration/security/limits.test.ts", "aborts before their task"],
  "ConnectionLimits.maxCredit": ["test/integration/security/limits.test.ts", '"credit"'],
  "WorkerLimits.maxUnfinishedTotal": [
    "test/integration/security/limits.test.ts",
    "whoever brings a payload slowly makes room",
  ],
  "WorkerLimits.unfinishedTimeout": [
    "test/integration/security/limits.test.ts",
    "time between the pieces of a payload",
  ],
  "WorkerLimits.maxSessions": [
    "test/integration/security/limits.test.ts",
    "a connection has no more sessions than it may",
  ],
  "WorkerLimits.maxConnections": [
    "test/integration/security/connection-limits.test.ts",
    "maxConnections: one more connection is dropped",
  ],
  "WorkerLimits.maxMetadataBytes": [
    "test/integration/security/connection-limits.test.ts",
    "maxMetadataBytes: a call with more of it ends",
  ],
  "WorkerLimits.handshakeTimeout": [
    "test/integration/security/connection-limits.test.ts",
    "handshakeTimeout: a connection that says nothing is closed",
  ],
  "WorkerLimits.requestTimeout": [
    "test/integration/security/connection-limits.test.ts",
    "requestTimeout: a call without a message ends",
  ],
  "WorkerLimits.idleTimeout": [
    "test/integration/security/connection-limits.test.ts",
    "idleTimeout: a connection without a call is closed",
  ],
  "WorkerLimits.keepaliveTimeout": [
    "test/integration/security/silent-callers.test.ts",
    "the tasks of a frozen caller are cancelled: %s",
  ],
  "DnsDiscoveryOptions.port": ["test/network/dns.test.ts", "finds the addresses of a name with a port"],
  "DnsDiscoveryOptions.servers": ["test/network/dns.test.ts", "asks again by TCP when an answer is too long"],
  "DnsDiscoveryOptions.minInterval": ["test/network/dns.test.ts", "looks again between minInterval and maxInterval"],
  "DnsDiscoveryOptions.maxInterval": ["test/network/dns.test.ts", "looks again between minInterval and maxInterval"],
  "DnsDiscoveryOptions.timeout": [
    "test/network/dns.test.ts",
    "names the name server that does not answer, after a bounded wait",
  ],
  "DnsDiscoveryOptions.secure": ["test/network/dns.test.ts", "asks workers with TLS, or without"],
  "DnsDiscoveryOptions.credentials": ["test/network/dns.test.ts", "asks workers with TLS, or without"],
  "EtcdDiscoveryOptions.endpoints": ["test/network/etcd.test.ts", "uses the next server of a cluster"],
  "EtcdDiscoveryOptions.prefix": ["test/network/etcd.test.ts", "keeps prefixes apart"],
  "EtcdDiscoveryOptions.ttl": ["test/network/etcd.test.ts", "falls silent when their lease runs out"],
  "EtcdDiscoveryOptions.connectTimeout": [
    "test/network/etcd.test.ts",
    "names the server that cannot be reached, after a bounded wait",
  ],
  "EtcdDiscoveryOptions.username": ["test/network/etcd.test.ts", "signs in with a password"],
  "EtcdDiscoveryOptions.password": ["test/network/etcd.test.ts", "signs in with a password"],
  "EtcdDiscoveryOptions.tls": ["test/network/etcd.test.ts", "speaks TLS with certificates"],
  "RedisDiscoveryOptions.address": ["test/network/redis.test.ts", "names the server that cannot be reached"],
  "RedisDiscoveryOptions.prefix": ["test/network/redis.test.ts", "keeps prefixes apart"],
  "RedisDiscoveryOptions.database": ["test/network/redis.test.ts", "keeps databases apart"],
  "RedisDiscoveryOptions.ttl": ["test/network/redis.test.ts", "falls silent when they expire"],
  "RedisDiscoveryOptions.connectTimeout": [
    "test/network/redis.test.ts",
    "names the server that cannot be reached, after a bounded wait",
  ],
  "RedisDiscoveryOptions.username": ["test/network/redis.test.ts", "signs in as a user"],
  "RedisDiscoveryOptions.password": ["test/network/redis.test.ts", "signs in with a password"],
  "RedisDiscoveryOptions.tls": ["test/network/redis.test.ts", "speaks TLS, and refuses a server of another authority"],
  "RegistryTls.ca": ["test/network/redis.test.ts", "speaks TLS, and refuses a server of another authority"],
  "RegistryTls.key": ["test/network/etcd.test.ts", "speaks TLS with certificates"],
  "RegistryTls.cert": ["test/network/etcd.test.ts", "speaks TLS with certificates"],
  "RegistryTls.servername": ["test/network/redis.test.ts", "another.example"],
  "CredentialsFiles.ca": [
    "src/security/worker-credentials.test.ts",
    "reads them, and names the one that it cannot read",
  ],
  "CredentialsFiles.key": [
    "src/security/worker-credentials.test.ts",
    "reads them, and names the one that it cannot read",
  ],
  "CredentialsFiles.cert": [
    "src/security/worker-credentials.test.ts",
    "reads them, and names the one that it cannot read",
  ],
  "CredentialsFiles.mutual": ["src/security/worker-credentials.test.ts", "fromFiles({ ...files, mutual: false })"],
  "CredentialsMaterial.ca": ["test/integration/security/tls-faults.test.ts", "is a HandshakeError; nothing runs"],
  "CredentialsMaterial.key": ["test/integration/security/tls.test.ts", "does not start workers without a key"],
  "CredentialsMaterial.cert": [
    "src/security/worker-credentials.test.ts",
    "take text and bytes, and several authorities",
  ],
  "CredentialsMaterial.mutual": [
    "src/security/worker-credentials.test.ts",
    "show a caller's certificate, and ask for one, only where that is mutual",
  ],
  "TargetArguments.streams": [
    "test/interop/node-targets.test.ts",
    "is called by its name, and takes any value that travels",
  ],
  "WorkerLike.start.timeout": [
    "test/lifecycle/custom-workers.test.ts",
    "that is no Worker is started, used and stopped",
  ],
  "WorkerLike.stop.timeout": [
    "test/lifecycle/custom-workers.test.ts",
    "that is no Worker is started, used and stopped",
  ],
  "Worker.start.timeout": ["test/integration/pools/start-failure.test.ts", "that takes too long to start is ended"],
  "Worker.stop.timeout": ["test/lifecycle/stopping.test.ts", "with some time waits that long and then cancels"],
  "WorkerConnection.stop.timeout": [
    "test/lifecycle/stopping.test.ts",
    "with some time waits that long and then cancels",
  ],
  "WorkerPool.stop.timeout": ["test/lifecycle/stopping.test.ts", "with some time cancels what does not end within it"],
};

const WORKERS = "test/programs/cli-workers.test.ts";
const CERTS = "test/programs/cli-certs.test.ts";

/** The same for options of the command line. */
const COMMANDS: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "--discovery": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "--ca": [WORKERS, "TLS: certificates are read from files"],
  "--cert": [WORKERS, "TLS: certificates are read from files"],
  "--key": [WORKERS, "TLS: certificates are read from files"],
  "--identity": [WORKERS, "workers are known by --identity where it is not their host"],
  "worker --workers": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --host": [WORKERS, "listens on the ports that it was given"],
  "worker --port": [WORKERS, "listens on the ports that it was given"],
  "worker --advertise": [WORKERS, "and advertises what it was told"],
  "worker --name": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --tag": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --extra": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --threads": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --max-concurrency": [WORKERS, "runs workers that pools find, with what they were told to be"],
  "worker --preload": [WORKERS, "imports what it is told to before the first task"],
  "worker --grace": [WORKERS, "finishes running tasks after SIGTERM within --grace"],
  "worker --json": [WORKERS, "logs text where it is told to"],
  "worker --no-json": [WORKERS, "logs text where it is told to"],
  "ps --tag": [WORKERS, "list workers, and say so where there are none or they do not answer"],
  "ps --wait": [WORKERS, "wait for ever for more workers if they are told to"],
  "ps --json": [WORKERS, "list workers, and say so where there are none or they do not answer"],
  "stop --tag": [WORKERS, "drain one worker, some by tag, or all"],
  "stop --all": [WORKERS, "drain one worker, some by tag, or all"],
  "stop --timeout": [WORKERS, "drain one worker, some by tag, or all"],
  "stop --json": [WORKERS, "drain one worker, some by tag, or all"],
  "doctor --json": ["test/programs/cli-doctor.test.ts", "has a plain answer to every question"],
  "explain --entry": ["test/programs/cli-explain.test.ts", "the entry file goes by value, with sizes"],
  "explain --json": ["test/programs/cli-explain.test.ts", "prints one explanation"],
  "certs --dir": [WORKERS, "TLS: certificates are read from files"],
  "certs --host": [CERTS, "shows what there is, as text and as JSON"],
  "certs --only-hosts": [WORKERS, "workers are known by --identity where it is not their host"],
  "certs --days": [CERTS, "renews what there is, and only what is asked for"],
  "certs --name": [CERTS, "shows what there is, as text and as JSON"],
  "certs --force": [CERTS, "and fails for a certificate that is no good"],
  "certs --json": [CERTS, "shows what there is, as text and as JSON"],
};

const root = new URL("../../", import.meta.url);

/** The declarations that the package ships. */
function declarations(): string {
  const dist = new URL("dist/", root);
  const files = readdirSync(dist).filter((file) => /^(?:index|dns|etcd|redis|wool-.*)\.d\.ts$/.test(file));
  return files.map((file) => readFileSync(new URL(file, dist), "utf8")).join("\n");
}

/** Options in interfaces of their own. */
function declaredOptions(text: string): string[] {
  const interfaces = text.matchAll(
    /^interface (\w*(?:Options|Limits)|RegistryTls|Credentials\w*)(?:<[^>]*>)?(?: extends [\w, ]+)? \{(.*?)^\}/gms,
  );
  return Array.from(interfaces, ([, name = "", body = ""]) =>
    Array.from(body.matchAll(/^ {4}readonly (\w+)\??:/gm), ([, option = ""]) => `${name}.${option}`),
  ).flat();
}

/** Options that a method or an alias declares for itself. */
function inlineOptions(text: string): string[] {
  const holders = text.matchAll(/^(?:declare )?(?:abstract )?(?:class|interface) (\w+)[^\n]*\{\n(.*?)^\}/gms);
  const ofMethods = Array.from(holders, ([, holder = "", body = ""]) =>
    Array.from(body.matchAll(/^ {4}(\w+)\(options\?: \{\n(.*?)^ {4}\}/gms), ([, method = "", options = ""]) =>
      Array.from(options.matchAll(/(\w+)\?:/g), ([, option = ""]) => `${holder}.${method}.${option}`),
    ),
  ).flat(2);
  const aliases = text.matchAll(/^type (\w*(?:Options|Arguments))<.*?^\}\];$/gms);
  const ofAliases = Array.from(aliases, ([body, alias = ""]) =>
    Array.from(body.matchAll(/readonly (\w+)\??:/g), ([, option = ""]) => `${alias}.${option}`),
  ).flat();
  return [...ofMethods, ...new Set(ofAliases)];
}

/** Options of the command line; those of every command that looks for workers once. */
function commandOptions(): string[] {
  const folder = new URL("src/cli/", root);
  const tables = readdirSync(folder).flatMap((file) => {
    const command = /^(?:(\w+)-command|arguments)\.ts$/.exec(file);
    const table = /const (?:DISCOVERY_)?OPTIONS = \{(.*?)\} as const;/s.exec(
      readFileSync(new URL(file, folder), "utf8"),
    );
    return command === null || table === null ? [] : [[command[1], table[1]] as const];
  });
  return tables.flatMap(([command, table = ""]) =>
    Array.from(table.matchAll(/"?([\w-]+)"?: \{ type/g), ([, name]) =>
      command === undefined ? `--${name}` : `${command} --${name}`,
    ),
  );
}

it("every public option has a test of its effect, and no other is listed", () => {
  const text = declarations();
  expect(Object.keys(EFFECTS).sort()).toEqual([...declaredOptions(text), ...inlineOptions(text)].sort());
});

it("every option of the command line has one, too", () => {
  expect(Object.keys(COMMANDS).sort()).toEqual(commandOptions().sort());
});

it("those tests are there", () => {
  const missing = Object.entries({ ...EFFECTS, ...COMMANDS }).filter(
    ([, [file, title]]) => !readFileSync(fileURLToPath(new URL(file, root)), "utf8").includes(title),
  );
  expect(missing.map(([option]) => option)).toEqual([]);
});
