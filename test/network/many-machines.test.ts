import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { composeServices, dockerCommand, manifests, unitSettings } from "../support/deploy-files.ts";
import { type Host, Network } from "../support/hosts.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("network namespaces", "dnsmasq", "etcd", "redis-server");
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Asks a worker how it is, as Kubernetes does, and prints the status as a number: 1 is SERVING. */
const PROBE = `
import { Client, credentials } from "@grpc/grpc-js";
const client = new Client(process.argv[1], credentials.createInsecure());
const same = (bytes) => bytes;
client.makeUnaryRequest("/grpc.health.v1.Health/Check", same, same, Buffer.alloc(0), (error, answer) => {
  console.log(error?.message ?? answer[1]);
  client.close();
});`;

/** The page, by section: what it tells to run, and its programs. */
const page = new Map(
  readFileSync(join(root, "docs/many-machines.md"), "utf8")
    .split(/^## /m)
    .map((text): [string, { commands: string[]; programs: string[] }] => {
      const blocks = (language: string) =>
        [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code = ""]) => code);
      const lines = blocks("console").flatMap((block) => block.split("\n"));
      return [
        text.split("\n")[0] ?? "",
        {
          commands: lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)),
          programs: blocks("js"),
        },
      ];
    }),
);
const done = new Set<string>();

/** The command of a section of the page that begins like this. It counts as run from now on. */
function commandOf(section: string, beginning: string): string[] {
  const command = page.get(section)?.commands.find((each) => each.startsWith(beginning) && !done.has(each));
  if (command === undefined) throw new Error(`"${section}" has no command ${beginning} that has not been run`);
  done.add(command);
  return command.split(" ");
}

/** A program that runs on a host. */
interface Running {
  readonly output: string;
  readonly ended: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

describe.skipIf(missing !== undefined)("docs/many-machines.md and deploy/", () => {
  let network: Network;
  let [servers, one, two, caller]: Host[] = [];
  let project: string;
  const workersLeft = new Set<Running>();

  beforeAll(async () => {
    // A project with the package installed.
    project = mkdtempSync(join(tmpdir(), "wool-project-"));
    mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
    symlinkSync(root, join(project, "node_modules/wool-ts"));
    symlinkSync("../wool-ts/dist/cli.js", join(project, "node_modules/.bin/wool"));
    network = new Network({ hosts: [["a"], ["a"], ["a"], ["a"]] });
    [servers, one, two, caller] = network.hosts;
    const [address, ...workers] = [servers, one, two].map((host) => host?.address ?? "");
    for (const host of network.hosts) host.useNameServer(address ?? "", "default.svc.cluster.local");
    // What the name servers of compose and Kubernetes say of a service "workers", and of two registries.
    const domain = "default.svc.cluster.local";
    const records = [
      `address=/etcd.internal/${address}`,
      `address=/redis.internal/${address}`,
      ...workers.map((worker) => `host-record=workers,${worker}`),
      ...workers.flatMap((worker, i) => [
        `host-record=pod-${i}.workers.${domain},${worker}`,
        `srv-host=_wool._tcp.workers.${domain},pod-${i}.workers.${domain},9000`,
      ]),
    ];
    const file = join(project, "dnsmasq.conf");
    writeFileSync(file, records.join("\n"));
    const quiet = ["--no-resolv", "--no-hosts", "--user=root", "--pid-file=", "--local-ttl=1", "--local=/local/"];
    start(servers, ["dnsmasq", "--no-daemon", `--conf-file=${file}`, ...quiet]);
  }, 60_000);

  afterAll(async () => {
    await network?.[Symbol.asyncDispose]();
    if (project !== undefined) rmSync(project, { recursive: true, force: true });
  });

  afterEach(async () => {
    // Those that a test that has failed did not stop.
    for (const each of workersLeft) each.signal("SIGKILL");
    await Promise.all(Array.from(workersLeft, ({ ended }) => ended));
    workersLeft.clear();
  });

  /** Starts a command of the page, or of a file of `deploy/`, in the folder of the project. */
  function start(host: Host | undefined, [program = "", ...args]: readonly string[], env = {}): Running {
    const isWool = program === "npx" && args[0] === "wool";
    const command = isWool ? join(project, "node_modules/.bin/wool") : program;
    const child = host?.spawn(command, isWool ? args.slice(1) : args, { cwd: project, env });
    if (child === undefined) throw new Error("there is no such host");
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    return {
      get output() {
        return output;
      },
      ended: new Promise((resolve) => child.on("close", resolve)),
      signal: (signal) => void child.kill(signal),
    };
  }

  /** Runs a command to its end, which must be a good one, and returns what it printed. */
  async function run(host: Host | undefined, command: readonly string[], env = {}): Promise<string> {
    const running = start(host, command, env);
    expect([await running.ended, running.output]).toEqual([0, running.output]);
    return running.output;
  }

  /** Starts workers, and waits until they are ready. */
  async function startWorkers(host: Host | undefined, command: readonly string[], env = {}): Promise<Running> {
    const running = start(host, command, env);
    let code: number | null | undefined;
    workersLeft.add(running);
    void running.ended.then((status) => (code = status));
    await until(() => {
      if (code !== undefined) throw new Error(`it has ended with ${code}: ${running.output}`);
      return running.output.includes('"event":"ready"');
    }, "the workers are ready");
    return running;
  }

  /** Stops workers as an orchestrator does, which must end them in order. */
  async function stop(workers: readonly Running[]): Promise<void> {
    for (const each of workers) each.signal("SIGTERM");
    expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual(workers.map(() => 0));
  }

  test("two machines on a network: the program runs on the other one", async () => {
    const section = "Two machines on a network";
    const workers = await startWorkers(one, commandOf(section, "npx wool worker"));
    writeFileSync(join(project, "where.mjs"), page.get(section)?.programs[0] ?? "");
    const pids = workers.output.split("\n").flatMap((line) => /"pid":(\d+)/.exec(line)?.[1] ?? []);
    expect(pids).toHaveLength(2);
    const output = await run(caller, commandOf(section, "node where.mjs"));
    expect(pids).toContain(/^Where does this run\? On .*, in process (\d+)\.$/m.exec(output)?.[1]);
    const [listed, findings] = await Promise.all([
      run(caller, commandOf(section, "npx wool ps")),
      run(caller, commandOf(section, "npx wool doctor")),
    ]);
    expect(listed).toContain(`${one?.address}:`);
    expect(findings).toContain("lan:render: knows 2 workers");
    await stop([workers]);
  }, 60_000);

  test("two machines on a network: a list of addresses", async () => {
    const workers = await startWorkers(one, commandOf("Two machines on a network", "npx wool worker"));
    const list = `static:${one?.address}:9000,${one?.address}:9001`;
    expect(await run(caller, [process.execPath, join(root, "deploy/caller.mjs")], { WORKERS: list })).toContain(
      "2 workers",
    );
    await stop([workers]);
  }, 60_000);

  test("with a registry: workers of two machines are found", async () => {
    const address = servers?.address;
    const [etcd, redis] = [
      commandOf("With a registry", "npx wool worker --discovery etcd:"),
      commandOf("With a registry", "npx wool worker --discovery redis:"),
    ];
    const urls = { "listen-client-urls": "http://0.0.0.0:2379", "advertise-client-urls": `http://${address}:2379` };
    const settings = Object.entries({ ...urls, "data-dir": join(project, "etcd"), "log-level": "error" });
    start(servers, ["etcd", ...settings.flatMap(([name, value]) => [`--${name}`, value])]);
    start(servers, ["redis-server", "--bind", "0.0.0.0", "--save", "", "--requirepass", "secret", "--dir", project]);
    await Promise.all(
      [etcd, redis].map(async (command) => {
        const workers = await Promise.all([one, two].map((host) => startWorkers(host, command)));
        const url = command[command.indexOf("--discovery") + 1] ?? "";
        const listed = await run(caller, ["npx", "wool", "ps", "--discovery", url]);
        for (const host of [one, two]) expect(listed).toContain(`${host?.address}:`);
        await stop(workers);
      }),
    );
  }, 90_000);

  test("in containers: the image's command serves, its health check agrees, and the caller finds both", async () => {
    const command = [...dockerCommand("ENTRYPOINT"), ...dockerCommand("CMD")];
    const program = join(project, command[0] ?? "");
    const workers = await Promise.all([one, two].map((host) => startWorkers(host, [program, ...command.slice(1)])));
    const [, ...health] = dockerCommand("HEALTHCHECK");
    await run(one, [program, ...health]);
    const { caller: service } = composeServices();
    const output = await run(caller, [...(service.entrypoint ?? []), ...(service.command ?? [])], service.environment);
    expect(output).toContain("2 workers");
    await stop(workers);
    expect(await start(one, [program, ...health]).ended).toBe(1);
  }, 90_000);

  test("on Kubernetes: the pod's command serves, its probes agree, and the caller finds both by SRV records", async () => {
    const [container] = manifests().Deployment.spec.template.spec.containers;
    const program = join(project, dockerCommand("ENTRYPOINT")[0] ?? "");
    const workers = await Promise.all([one, two].map((host) => startWorkers(host, [program, ...container.args])));
    // Packages are found from the folder of the repository.
    const probe = [process.execPath, "--input-type=module", "-e", PROBE];
    const target = `127.0.0.1:${container.readinessProbe.grpc.port}`;
    const asked = one?.spawn(probe[0] ?? "", [...probe.slice(1), target], { cwd: root });
    let status = "";
    asked?.stdout?.setEncoding("utf8").on("data", (text: string) => (status += text));
    await until(() => status !== "", "the probe has an answer");
    expect(status).toBe("1\n");
    const line = commandOf("On Kubernetes", "kubectl run");
    const [, name = "", url = ""] =
      /^--env=(\w+)=(.*)$/.exec(line.find((part) => part.startsWith("--env=")) ?? "") ?? [];
    expect(line).toContain(`--image=${container.image}`);
    expect(await run(caller, line.slice(line.indexOf("--") + 1), { [name]: url })).toContain("2 workers");
    await stop(workers);
  }, 90_000);

  test("with systemd: the unit's command serves until it is stopped", async () => {
    const [, program = "", ...args] = (unitSettings().get("Service.ExecStart") ?? "").split(" ");
    const workers = await startWorkers(one, [program, ...args]);
    expect(await run(caller, ["npx", "wool", "ps", "--discovery", "lan:default"])).toContain(`${one?.address}:9000`);
    await stop([workers]);
  }, 60_000);

  test("no command of the page is left, but those that need an engine", () => {
    const all = [...page.values()].flatMap(({ commands }) => commands);
    const left = all.filter((command) => !done.has(command));
    expect(left.map((command) => command.split(" ").slice(0, 2).join(" "))).toEqual([
      "docker compose",
      "kubectl apply",
    ]);
    expect(left[0]).toContain("-f node_modules/wool-ts/deploy/compose.yaml");
  });
});
