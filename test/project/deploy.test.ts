import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { DnsDiscovery } from "wool-ts/dns";
import { EXIT } from "../../src/cli/command.ts";
import { readWorkerArguments, type WorkerSettings } from "../../src/cli/worker-command.ts";
import {
  composeServices,
  dockerCommand,
  dockerInstructions,
  manifests,
  unitSettings,
} from "../support/deploy-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packageJson = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly files: readonly string[];
};

/** What a command line that begins with `worker` asks for, as the command itself reads it. */
function settingsOf([command, ...args]: readonly string[]): WorkerSettings {
  expect(command).toBe("worker");
  return readWorkerArguments(args).settings;
}

/** The file of this repository that a path in an installed package leads to. */
function packaged(path: string): string {
  expect(path).toMatch(/^node_modules\/wool-ts\//);
  const inside = path.slice("node_modules/wool-ts/".length);
  expect(packageJson.files).toContain(inside.split("/")[0]);
  return `${root}/${inside}`;
}

describe("the Dockerfile", () => {
  const instructions = dockerInstructions();
  const settings = settingsOf(dockerCommand("CMD"));

  test("starts the command line of the package on the port that it exposes", () => {
    expect(dockerCommand("ENTRYPOINT")).toEqual(["node_modules/.bin/wool"]);
    expect(Object.keys(packageJson.bin)).toContain("wool");
    expect(settings.options.host).toBe("0.0.0.0");
    expect(instructions.get("EXPOSE")).toBe(String(settings.port));
  });

  test("is small, for a version of Node.js that will do, and not root", () => {
    const [, version] = /^node:(\d+)-alpine$/.exec(instructions.get("FROM") ?? "") ?? [];
    expect(Number(version)).toBeGreaterThan(Number.parseFloat(packageJson.engines.node.replace(/^\D+/, "")));
    expect(instructions.get("USER")).toBe("node");
    expect(instructions.get("COPY")).toBeDefined();
  });

  test("asks the same port how it is", () => {
    const [program, ...args] = dockerCommand("HEALTHCHECK");
    expect(program).toBe("node_modules/.bin/wool");
    expect(args).toEqual(["ps", "--discovery", `static:127.0.0.1:${settings.port}`]);
  });

  test("has tasks finish before it is killed: the signal is the one that gives them time", () => {
    expect(instructions.get("STOPSIGNAL")).toBe("SIGTERM");
    expect(settings.grace).toBeGreaterThan(0);
  });
});

describe("the compose file", () => {
  const { workers, caller } = composeServices();
  const settings = settingsOf(dockerCommand("CMD"));

  test("has two workers and a caller, of the image of the Dockerfile, in one network", () => {
    expect(workers.deploy?.replicas).toBe(2);
    expect(workers.command).toBeUndefined();
    for (const { build, networks } of [workers, caller]) {
      expect(existsSync(packaged(build.dockerfile))).toBe(true);
      expect(networks).toEqual(workers.networks);
    }
  });

  test("has the caller find the workers by the name of their service, once they answer", () => {
    expect(settings.url).toBe(`dns:workers:${settings.port}`);
    expect(caller.environment).toEqual({ WORKERS: settings.url });
    expect(caller.depends_on).toEqual({ workers: { condition: "service_healthy" } });
    expect(caller.entrypoint).toEqual(["node"]);
    expect(existsSync(packaged(caller.command?.[0] ?? ""))).toBe(true);
  });

  test("waits longer than the workers give their tasks", () => {
    expect(Number.parseInt(workers.stop_grace_period ?? "", 10) * 1000).toBeGreaterThan(settings.grace);
  });
});

describe("the manifests for Kubernetes", () => {
  const { Service, Deployment, PodDisruptionBudget, HorizontalPodAutoscaler, NetworkPolicy } = manifests();
  const { template, replicas, selector } = Deployment.spec;
  const [container] = template.spec.containers;
  const settings = settingsOf(container.args);

  test("start a worker on the port that the service and the policy name", () => {
    const [port] = container.ports;
    expect(port).toMatchObject({ name: "wool", containerPort: settings.port });
    expect(Service.spec.ports).toMatchObject([{ name: port?.name, port: settings.port, targetPort: port?.name }]);
    expect(NetworkPolicy.spec.ingress[0]?.ports).toMatchObject([{ port: port?.name }]);
    expect(settings.options.host).toBe("0.0.0.0");
  });

  test("have a headless service whose SRV records are those that the discovery looks for", () => {
    expect(Service.spec.clusterIP).toBe("None");
    expect(settings.url).toBe(`dns:${Service.metadata.name}`);
    const [port] = Service.spec.ports;
    expect(new DnsDiscovery(Service.metadata.name).name).toBe(`_${port?.name}._tcp.${Service.metadata.name}`);
  });

  test("are about the same pods", () => {
    const { labels } = template.metadata;
    expect([
      selector.matchLabels,
      Service.spec.selector,
      PodDisruptionBudget.spec.selector.matchLabels,
      NetworkPolicy.spec.podSelector.matchLabels,
      NetworkPolicy.spec.ingress[0]?.from[0]?.podSelector.matchLabels,
    ]).toEqual(Array.from({ length: 5 }, () => labels));
    expect(HorizontalPodAutoscaler.spec.scaleTargetRef).toMatchObject({
      kind: "Deployment",
      name: Deployment.metadata.name,
    });
  });

  test("probe the health of the port, and leave tasks the time that they are promised", () => {
    const { startupProbe, readinessProbe, livenessProbe, lifecycle } = container;
    for (const probe of [startupProbe, readinessProbe, livenessProbe]) expect(probe.grpc.port).toBe(settings.port);
    const [, pause] = lifecycle.preStop.exec.command;
    const { terminationGracePeriodSeconds } = template.spec;
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(settings.grace + Number(pause) * 1000);
    const { periodSeconds, failureThreshold = 3 } = livenessProbe;
    expect(periodSeconds * failureThreshold * 1000).toBeGreaterThan(settings.grace);
  });

  test("keep workers while nodes are drained, and add some while CPUs are busy", () => {
    const { minReplicas, maxReplicas, metrics } = HorizontalPodAutoscaler.spec;
    expect(PodDisruptionBudget.spec.minAvailable).toBeLessThan(Math.min(replicas, minReplicas));
    expect(maxReplicas).toBeGreaterThan(minReplicas);
    for (const { resource } of metrics) expect(container.resources.requests).toHaveProperty(resource.name);
  });

  test("run as nobody special", () => {
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
  });
});

describe("the systemd unit", () => {
  const unit = unitSettings();
  const [, program, cli, ...args] = (unit.get("Service.ExecStart") ?? "").split(" ");
  const settings = settingsOf(args);

  test("starts the command line of the package", () => {
    expect(program).toBe("node");
    expect(cli).toBe(`node_modules/wool-ts/${packageJson.bin["wool"]?.replace("./", "")}`);
    expect(settings.options.host).toBe("0.0.0.0");
  });

  test("stops it with the signal that gives tasks time, and waits longer than that", () => {
    expect(unit.get("Service.KillSignal")).toBe("SIGTERM");
    // To the command alone, which tells its workers.
    expect(unit.get("Service.KillMode")).toBe("mixed");
    expect(Number(unit.get("Service.TimeoutStopSec")) * 1000).toBeGreaterThan(settings.grace);
  });

  test("starts it again when it fails, but not for arguments that make no sense", () => {
    expect(unit.get("Service.Restart")).toBe("on-failure");
    expect(unit.get("Service.RestartPreventExitStatus")).toBe(String(EXIT.usage));
  });

  test("has a private runtime directory, and is not root", () => {
    expect(unit.get("Service.DynamicUser")).toBe("yes");
    expect(unit.get("Service.RuntimeDirectoryMode")).toBe("0700");
    expect(unit.get("Service.Environment")).toContain(`XDG_RUNTIME_DIR=%t/${unit.get("Service.RuntimeDirectory")}`);
  });

  test.skipIf(!existsSync("/usr/bin/systemd-analyze"))("has no fault that systemd finds", () => {
    execFileSync("systemd-analyze", ["verify", `${root}/deploy/wool-worker.service`], { stdio: "pipe" });
  });
});
