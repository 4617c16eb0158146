import * as balancing from "./balancing/index.ts";
import { LanDiscovery, LocalDiscovery, openDiscovery, StaticDiscovery } from "./discovery/index.ts";
import { registerRuntimeExports } from "./functions/index.ts";
import { WorkerPool } from "./pool/index.ts";
import { WorkerConnection, WorkerProxy } from "./proxy/index.ts";
import { WorkerCredentials, WorkerCredentialsProvider } from "./security/index.ts";
import { LocalWorker, ResilientWorker, Worker } from "./worker/index.ts";

/** The same for the exports that programs use to make calls. A task thread loads them at their first use. */
export function registerCallerExports(): void {
  registerRuntimeExports("wool-ts", {
    ...balancing,
    LanDiscovery,
    LocalDiscovery,
    LocalWorker,
    openDiscovery,
    ResilientWorker,
    StaticDiscovery,
    Worker,
    WorkerConnection,
    WorkerCredentials,
    WorkerCredentialsProvider,
    WorkerPool,
    WorkerProxy,
  });
}
