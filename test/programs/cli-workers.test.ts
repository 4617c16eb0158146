import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { currentTask, routine, WorkerPool } from "wool-ts";
import { CLI, startWorkers, wool } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { expectNothingLeft } from "../support/nothing-left.ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { startProgram } from "../support/run-program.ts";
import { until } from "../support/until.ts";

expectNothingLeft();

const DISCOVERY = ["--discovery", "local:cli"];
const pid = routine(async () => process.pid);
const lastUntil = routine(async (file: string) => {
  const { existsSync: exists, writeFileSync: write } = await import("node:fs");
  write(`${file}-begun`, "");
  while (!exists(file) && currentTask()?.signal.aborted !== true)
    await new Promise((resolve) => setTimeout(resolve, 5));
  return "done";
});

describe("wool worker", () => {
  test("runs workers that pools find, with what they were told to be", async () => {
    await using command = await startWorkers([
      ...DISCOVERY,
      ..."--workers 2 --tag gpu --tag big,fast --name render --extra rack=7 --extra zones=a,b --threads 2 --max-concurrency 3".split(
        " ",
      ),
    ]);
    await using pool = await WorkerPool.start({ discovery: "local:cli", quorum: 2, tags: ["gpu"] });
    const workers = [...pool.workers.values()];
    expect(workers.map((worker) => worker.pid).sort()).toEqual(
      command
        .workers()
        .map((line) => line.pid)
        .sort(),
    );
    expect(workers[0]?.tags).toEqual(new Set(["gpu", "big", "fast"]));
    expect(workers[0]?.extra).toEqual({ name: "render", rack: "7", zones: "a,b" });
    expect(workers[0]?.channel).toMatchObject({ threads: 2, maxConcurrency: 3 });
    expect(workers.map((worker) => worker.pid)).toContain(await pool.dispatch(pid));
  });

  test("imports what it is told to before the first task", async () => {
    const folder = mkdtempSync(join(tmpdir(), "preload-"));
    // A comma is as good a character as any in the name of a file.
    const modules = ["one", "two,three"].map((name) => join(folder, `${name}.mjs`));
    for (const [index, file] of modules.entries()) {
      writeFileSync(file, `globalThis.loaded = [...(globalThis.loaded ?? []), ${index}];`);
    }
    await using command = await startWorkers([...DISCOVERY, ...modules.flatMap((file) => ["--preload", file])]);
    await using pool = await WorkerPool.start({ discovery: "local:cli" });
    const loaded = routine(async () => Reflect.get(globalThis, "loaded") as unknown);
    expect(await pool.dispatch(loaded)).toEqual([0, 1]);
    expect(command.workers()).toHaveLength(1);
    rmSync(folder, { recursive: true });
  });

  test("goes on when nobody reads its log any more", async () => {
    await using command = await startWorkers(DISCOVERY);
    await using pool = await WorkerPool.start({ discovery: "local:cli" });
    const [worker] = pool.workers.values();
    command.program.child.stdout?.destroy();
    // What it logs of this nobody reads.
    killProcess(worker?.pid);
    await until(() => [...pool.workers.values()].some((each) => each.pid !== worker?.pid), "it is started again");
    expect(await pool.dispatch(pid)).not.toBe(worker?.pid);
    command.program.child.kill("SIGTERM");
    expect((await command.program.ended).code).toBe(0);
  });

  test("starts a worker again that crashes", async () => {
    await using command = await startWorkers(DISCOVERY);
    const [first] = command.workers();
    killProcess(first?.pid);
    await until(() => command.workers().length === 2, "it is started again");
    expect(command.lines().map(({ event }) => event)).toContain("lost");
    expect(command.workers()[1]?.uid).toBe(first?.uid);
  });

  test("listens on the ports that it was given, one after the other, and advertises what it was told", async () => {
    const port = await freePort();
    await using command = await startWorkers([
      ...DISCOVERY,
      ...`--host 127.0.0.1 --port ${port} --advertise localhost`.split(" "),
    ]);
    expect(command.workers()[0]?.address).toBe(`127.0.0.1:${port}`);
    const { stdout, code } = await wool("ps", ...DISCOVERY, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ address: `localhost:${port}`, responds: true, secure: false }]);
    // A probe needs nothing but the address.
    expect((await wool("ps", "--discovery", `static:127.0.0.1:${port}`)).code).toBe(0);
  });

  test("says which port is in use, and ends with 1", async () => {
    await using command = await startWorkers([...DISCOVERY, "--host", "127.0.0.1"]);
    const port = command.workers()[0]?.address?.split(":")[1] ?? "";
    const { code, stdout } = await wool("worker", "--discovery", "local:other", "--host", "127.0.0.1", "--port", port);
    expect(code).toBe(1);
    expect(stdout).toContain("EADDRINUSE");
    expect(stdout).toContain(port);
  });

  test("logs text where it is told to", async () => {
    const port = await freePort();
    const args = [
      "worker",
      ...DISCOVERY,
      "--no-json",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--preload",
      "./none",
    ];
    const { code, stdout } = await wool(...args);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d the workers could not be started: .*none/m);
    expect(stdout).not.toContain("{");
  });

  type Running = Awaited<ReturnType<typeof startWorkers>>;

  /** A call that lasts until a file exists, and the command that runs it. */
  async function withTask(
    args: readonly string[],
    use: (task: Promise<string>, command: Running, letEnd: () => void) => Promise<void>,
  ): Promise<void> {
    await using command = await startWorkers([...DISCOVERY, ...args]);
    await using pool = await WorkerPool.start({ discovery: "local:cli" });
    const folder = mkdtempSync(join(tmpdir(), "task-"));
    const file = join(folder, "end");
    const task = pool.dispatch(lastUntil, file).catch((error: Error) => error.name);
    await until(() => existsSync(`${file}-begun`), "the task runs");
    await use(task, command, () => writeFileSync(file, ""));
    await task;
    rmSync(folder, { recursive: true });
  }

  test("finishes running tasks after SIGINT", async () => {
    await withTask([], async (task, command, letEnd) => {
      command.program.child.kill("SIGINT");
      await until(() => command.lines().some(({ event }) => event === "stopping"), "it stops");
      letEnd();
      expect(await task).toBe("done");
      expect((await command.program.ended).code).toBe(0);
    });
  });

  test("finishes running tasks after SIGTERM within --grace, and cancels them at once without", async () => {
    await withTask(["--grace", "60000"], async (task, command, letEnd) => {
      command.program.child.kill("SIGTERM");
      await until(() => command.lines().some(({ event }) => event === "stopping"), "it stops");
      letEnd();
      expect(await task).toBe("done");
      expect((await command.program.ended).code).toBe(0);
    });
    await withTask([], async (task, command) => {
      command.program.child.kill("SIGTERM");
      expect(await task).toBe("TaskCancelled");
      expect((await command.program.ended).code).toBe(0);
    });
  });

  test("cancels tasks at a second signal", async () => {
    await withTask([], async (task, command) => {
      command.program.child.kill("SIGINT");
      await until(() => command.lines().some(({ event }) => event === "stopping"), "it stops");
      command.program.child.kill("SIGINT");
      expect(await task).toBe("TaskCancelled");
      expect((await command.program.ended).code).toBe(0);
      expect(command.lines().map(({ event }) => event)).toContain("hurrying");
    });
  });

  test.each([
    [["--discovery", "lna:x"], 'there is no discovery "lna:"'],
    [["--discovery", "lan:x"], "workers of lan: must listen where others reach them: add --host 0.0.0.0"],
    [["--port", "9000"], "--port needs --host"],
    [["--advertise", "here"], "--advertise needs --host"],
    [["--host", "::1", "--port", "70000"], '--port must be a whole number from 1 to 65535, not "70000"'],
    [["--host", "::1", "--port", "65535", "--workers", "2"], "would need port 65536"],
    [["--host", "::1", "--advertise", "here:1", "--workers", "2"], "leave the port out"],
    [["--host", "::1", "--advertise", "not a host"], '--advertise takes HOST or HOST:PORT, not "not a host"'],
    [["--workers", "0"], '--workers must be a whole number from 1 to 10000, not "0"'],
    [["--extra", "rack"], '--extra takes KEY=VALUE, not "rack"'],
    [["--extra", "rack=1", "--extra", "rack=2"], '--extra rack=2 contradicts another --extra, which says "1"'],
    [["--extra", "name=a", "--name", "b"], '--extra name=a contradicts --name, which says "b"'],
    [["--name", "a", "--name", "b"], "--name is given more than once, and takes one value"],
    [["--name", ""], "--name must not be empty"],
    [["--tag", "a", "--tag", ""], "--tag must not be empty"],
    [["--host", ""], "--host must be a host name or address, not empty"],
    [["--host", "::1", "--advertise", "0.0.0.0"], "an address that others can connect to, and 0.0.0.0 is not one"],
    [["--host", "::1", "--advertise", "[::]:80"], "an address that others can connect to, and [::] is not one"],
    [["--workers", "-1"], '--workers must be a whole number from 1 to 10000, not "-1"'],
    [["--grace", "-1"], '--grace must be a number of milliseconds, 0 or more, or Infinity, not "-1"'],
    [["--grace", "soon"], '--grace must be a number of milliseconds, 0 or more, or Infinity, not "soon"'],
    [["--host", "::1", "--discovery", "redis://u@h:1/x"], "--discovery: RedisDiscovery: a username needs a password"],
    [["--json", "--no-json"], "contradict each other"],
    [["--cert", "a.pem"], "--cert needs --ca"],
    [["--ca", "a.pem", "--cert", "b.pem"], "--cert needs --key"],
    [["--host", "::1", "--ca", "a.pem"], "a worker with TLS needs --cert and --key"],
    [["--thread", "2"], "there is no option --thread; did you mean --threads?"],
    [["extra"], "wool worker takes options only, not extra"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr, stdout } = await wool("worker", ...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});

test("TLS: certificates are read from files, and workers are known by --identity where it is not their host", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wool-cli-tls-"));
  for (const what of ["init", "worker --only-hosts --host w.example", "client"]) {
    expect(await wool("certs", ...what.split(" "), "--dir", folder)).toMatchObject({ code: 0, stderr: "" });
  }
  const at = (name: string) => join(folder, name);
  const of = (who: string) => ["--ca", at("ca.pem"), "--cert", at(`${who}.pem`), "--key", at(`${who}.key`)];
  await using command = await startWorkers([...DISCOVERY, "--host", "127.0.0.1", ...of("worker")]);
  const ask = async (...args: string[]) => {
    const { code, stdout } = await wool("ps", ...DISCOVERY, "--json", ...args);
    return [code, (JSON.parse(stdout) as { responds: boolean }[]).map(({ responds }) => responds)];
  };
  expect(await ask(...of("client"), "--identity", "w.example")).toEqual([0, [true]]);
  expect(await ask(...of("client"))).toEqual([1, [false]]);
  expect(await ask("--ca", at("ca.pem"), "--identity", "w.example")).toEqual([1, [false]]);
  expect(command.workers()).toHaveLength(1);
  rmSync(folder, { recursive: true });
});

describe("wool ps and wool stop", () => {
  test("list workers, and say so where there are none or they do not answer", async () => {
    const none = await wool("ps", "--discovery", "local:nobody");
    expect(none).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("local:nobody knows no workers"),
    });
    const port = await freePort();
    const dead = await wool("ps", "--discovery", `static:127.0.0.1:${port}`, "--wait", "3000", "--json");
    expect(dead.code).toBe(1);
    expect(JSON.parse(dead.stdout)).toMatchObject([
      { responds: false, error: expect.stringContaining("ECONNREFUSED") },
    ]);
    await using command = await startWorkers([...DISCOVERY, "--tag", "gpu"]);
    const [worker] = command.workers();
    const listed = await wool("ps", ...DISCOVERY);
    expect(listed.code).toBe(0);
    expect(listed.stdout).toMatch(new RegExp(`^${worker?.uid} .*gpu +idle for`, "m"));
    expect((await wool("ps", ...DISCOVERY, "--tag", "cpu")).code).toBe(1);
  });

  test("drain one worker, some by tag, or all", async () => {
    await using gpus = await startWorkers([...DISCOVERY, "--tag", "gpu", "--workers", "2"]);
    await using cpus = await startWorkers([...DISCOVERY, "--tag", "cpu", "--name", "calc"]);
    const [first, second] = gpus.workers();
    const one = await wool("stop", first?.uid?.slice(0, -1) ?? "", ...DISCOVERY);
    expect(one).toMatchObject({ code: 0, stdout: `${first?.uid} has stopped\n` });
    await until(() => !isRunning(first?.pid), "its process has ended");
    const byTag = await wool("stop", "--tag", "gpu", "--timeout", "0", ...DISCOVERY, "--json");
    expect(JSON.parse(byTag.stdout)).toEqual([{ uid: second?.uid, stopped: true, error: null }]);
    // With its last worker stopped the command has nothing to do.
    expect((await gpus.program.ended).code).toBe(0);
    expect((await wool("stop", "calc", ...DISCOVERY)).code).toBe(0);
    expect((await cpus.program.ended).code).toBe(0);
    expect((await wool("stop", "--all", ...DISCOVERY)).code).toBe(1);
  });

  test.each([
    [["stop"], "which workers?"],
    [["stop", "--all", "--tag", "x"], "--tag and --all contradict each other"],
    [["stop", "nobody", "--discovery", "local:nobody"], "there is no worker nobody; there are: none"],
    [
      ["stop", "--all", "--timeout", "-5"],
      '--timeout must be a number of milliseconds, 0 or more, or Infinity, not "-5"',
    ],
    [["stop", "", "--discovery", "local:nobody"], "a worker is named by its uid or its name, not by an empty text"],
    [["stop", "--tag", ""], "--tag must not be empty"],
    [["ps", "all"], "wool ps takes options only, not all"],
    [["ps", "--wait", "NaN"], '--wait must be a number of milliseconds, 0 or more, or Infinity, not "NaN"'],
    [["ps", "--discovery", "local:a", "--discovery", "local:b"], "--discovery is given more than once"],
    [["ps", "--discovery", "dns:x:99999"], '--discovery: DnsDiscovery: option "port" must be a whole number'],
    [["doctor", "me"], "wool doctor takes options only, not me"],
    [["doctor", "--discovery", "dns:x:99999"], '--discovery: DnsDiscovery: option "port" must be a whole number'],
    [["ps", "--discovery", "http://x"], 'there is no discovery "http:"'],
    [["ps", "--jason"], "there is no option --jason; did you mean --json?"],
  ])("refuse %j", async (args, message) => {
    const { code, stderr } = await wool(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  test.each(["0", "0.5", "Infinity", "1e300"])("take %s milliseconds for what they wait for", async (time) => {
    await using command = await startWorkers([...DISCOVERY, "--grace", time]);
    const { stdout, code } = await wool("stop", "--all", "--timeout", time, ...DISCOVERY);
    expect([code, stdout]).toEqual([0, `${command.workers()[0]?.uid} has stopped\n`]);
    expect((await command.program.ended).code).toBe(0);
  });

  test("wait for ever for more workers if they are told to", async () => {
    await using command = await startWorkers(DISCOVERY);
    const listing = startProgram(CLI, { args: ["ps", ...DISCOVERY, "--wait", "Infinity"] });
    const ended = listing.ended.then(() => "ended");
    const short = await wool("ps", ...DISCOVERY, "--wait", "0.5");
    expect(short.stdout).toContain(command.workers()[0]?.uid);
    expect(await Promise.race([ended, Promise.resolve("listening")])).toBe("listening");
    listing.child.kill();
    await ended;
  });

  test("say what is wrong with a registry", async () => {
    const url = `etcd://127.0.0.1:${await freePort()}/x?connectTimeout=300`;
    const { code, stderr } = await wool("ps", "--discovery", url);
    expect(code).toBe(1);
    expect(await wool("stop", "--all", "--json", "--discovery", url)).toMatchObject({ code: 1, stdout: "[]\n" });
    expect(stderr).toMatch(/^wool: etcd at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED.*\n$/);
  });
});
