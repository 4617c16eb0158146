import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";

/** Where the system describes control groups. */
export interface CgroupPlaces {
  /** Which groups this process is in; default `/proc/self/cgroup`. */
  readonly self?: string;
  /** Where the file systems of groups are mounted; default `/sys/fs/cgroup`. */
  readonly root?: string;
}

/**
 * How many cores this process may use, 1 or more: those that the system lets it run on, or fewer where the control
 * group of a container has a quota of processor time. Not every version of Node.js considers that quota. Part of a core
 * does not count.
 */
export function availableCores(places: CgroupPlaces = {}): number {
  return Math.max(1, Math.floor(Math.min(availableParallelism(), quotaOf(places))));
}

/** The smallest quota of the groups that this process is in, in cores; `Infinity` without one. */
function quotaOf({ self = "/proc/self/cgroup", root = "/sys/fs/cgroup" }: CgroupPlaces): number {
  const quotas: number[] = [];
  for (const line of read(self)?.split("\n") ?? []) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    if (controllers === "") quotas.push(...upwards(path).map((group) => unifiedQuota(join(root, group))));
    else if (controllers.split(",").includes("cpu")) {
      // Inside a container the path may be the host's, while the mount shows only the container's group.
      const mounts = [join(root, controllers), join(root, "cpu")];
      quotas.push(...mounts.flatMap((mount) => upwards(path).map((group) => firstQuota(join(mount, group)))));
    }
  }
  return Math.min(...quotas);
}

/** A group and its parents. */
function upwards(path: string): string[] {
  return dirname(path) === path ? [path] : [path, ...upwards(dirname(path))];
}

/** The quota in version 2 of control groups. The file has `max 100000`, or the quota and its period. */
function unifiedQuota(folder: string): number {
  const [quota, period] = read(join(folder, "cpu.max"))?.trim().split(" ").map(Number) ?? [];
  return ratio(quota, period);
}

/** The quota in version 1 of control groups. A group without a quota has -1. */
function firstQuota(folder: string): number {
  const [quota, period] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map((file) => Number(read(join(folder, file))));
  return ratio(quota, period);
}

function ratio(quota = 0, period = 0): number {
  return quota > 0 && period > 0 ? quota / period : Number.POSITIVE_INFINITY;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
