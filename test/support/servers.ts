import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pythonProblem } from "./python.ts";

/** What tests need on the machine besides Node.js, and how to check for it. */
const NEEDS = {
  etcd: () => hasProgram("etcd") ?? hasProgram("etcdctl"),
  "redis-server": () => hasProgram("redis-server") ?? hasProgram("redis-cli"),
  "avahi-daemon": () => hasProgram("avahi-daemon") ?? hasProgram("avahi-browse") ?? hasProgram("dbus-daemon"),
  dnsmasq: () => hasProgram("dnsmasq"),
  openssl: () => hasProgram("openssl"),
  python: pythonProblem,
  "network namespaces": () => hasProgram("ip") ?? canMakeNamespaces(),
} as const;

/**
 * Why a file's tests cannot run here; `undefined` when they can. The reason is printed. With `WOOL_REQUIRE_SERVERS=1`,
 * it is an error.
 */
export function missingFor(...needs: readonly (keyof typeof NEEDS)[]): string | undefined {
  const problems = needs.flatMap((need) => NEEDS[need]() ?? []);
  if (problems.length === 0) return undefined;
  const reason = problems.join("; ");
  if (process.env["WOOL_REQUIRE_SERVERS"] === "1") {
    throw new Error(`WOOL_REQUIRE_SERVERS is set, and these tests cannot run: ${reason}`);
  }
  process.stdout.write(`skipped: ${reason}\n`);
  return reason;
}

function hasProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/sbin"];
  return folders.some((folder) => existsSync(`${folder}/${name}`)) ? undefined : `${name} is not installed`;
}

let namespaces: { readonly problem: string | undefined } | undefined;

function canMakeNamespaces(): string | undefined {
  namespaces ??= { problem: namespaceProblem() };
  return namespaces.problem;
}

function namespaceProblem(): string | undefined {
  if (process.platform !== "linux") return "network namespaces exist only on Linux";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const name = `wool-probe-${process.pid}`;
  try {
    execFileSync("ip", ["netns", "add", name], { stdio: "pipe" });
    execFileSync("ip", ["netns", "del", name], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `network namespaces cannot be made: ${error instanceof Error ? error.message : String(error)}`;
  }
}
