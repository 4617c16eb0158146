import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../src/security/index.ts";
import { EXPIRED, NOT_YET_VALID } from "../support/certificates.ts";
import { CLI, startWorkers, wool } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { expectNothingLeft } from "../support/nothing-left.ts";
import { runProgram } from "../support/run-program.ts";

expectNothingLeft();

interface Finding {
  readonly subject: string;
  readonly verdict: "good" | "bad" | "note";
  readonly answer: string;
  readonly fix: string;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What the doctor finds, and how it ends. */
async function doctor(args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, code } = await runProgram(CLI, { args: ["doctor", "--json", ...args], env });
  return { code, find: finder(stdout) };
}

function finder(output: string): (subject: string) => Finding | undefined {
  const findings = JSON.parse(output) as Finding[];
  return (subject) => findings.find((finding) => finding.subject === subject);
}

describe("wool doctor", () => {
  test("has a plain answer to every question, and ends with 0 where everything works", async () => {
    const { code, stdout } = await wool("doctor", "--discovery", "local:nobody");
    expect(stdout).toMatch(/^ok {4}wool-ts: \d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^ok {4}Node\.js: Node\.js \d+\./m);
    expect(stdout).toMatch(/^ok {4}runtime directory: .* can be written$/m);
    expect(stdout).toMatch(/^ok {4}socket paths: \d+ of \d+ bytes$/m);
    expect(stdout).toMatch(/^ok {4}open files: up to \d+$/m);
    expect(stdout).toMatch(/^\S+ +multicast on lo: /m);
    expect(stdout).toMatch(
      /^note {2}local:nobody: knows no workers\n {6}-> start one: wool worker --discovery local:nobody$/m,
    );
    // No colours in a pipe.
    expect(stdout).not.toContain("\u001b[");
    expect(code).toBe(/^BAD/m.test(stdout) ? 1 : 0);
  });

  test("finds workers, and that they answer", async () => {
    await using command = await startWorkers(["--discovery", "local:doctor", "--host", "127.0.0.1"]);
    const [worker] = command.workers();
    const { find } = await doctor(["--discovery", "local:doctor"]);
    expect(find("local:doctor")).toMatchObject({ verdict: "good", answer: "knows 1 worker" });
    expect(find(`worker ${worker?.uid}`)).toMatchObject({
      verdict: "good",
      answer: expect.stringMatching(`^answers at ${worker?.address} in \\d+ ms$`),
    });
    expect(find(`way back from worker ${worker?.uid}`)?.verdict).toBe("good");
  });

  test("names the address of a worker that does not answer, and what to look at", async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const { code, find } = await doctor(["--discovery", `static:${address}`]);
    expect(code).toBe(1);
    expect(find(`worker ${address}`)).toMatchObject({
      verdict: "bad",
      answer: expect.stringMatching(`^announced at ${address}, and cannot be reached: .*ECONNREFUSED`),
      fix: expect.stringContaining("--advertise"),
    });
  });

  test("says which registry cannot be reached", async () => {
    const url = `etcd://127.0.0.1:${await freePort()}/x?connectTimeout=300`;
    const { code, find } = await doctor(["--discovery", url]);
    expect(code).toBe(1);
    expect(find(url)).toMatchObject({
      verdict: "bad",
      answer: expect.stringMatching(/^etcd at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/),
      fix: "start the server, or correct the URL",
    });
  });

  test("tells how to start workers that others reach", async () => {
    const { find } = await doctor(["--discovery", "lan:nobody"]);
    expect(find("lan:nobody")?.fix).toBe("start one: wool worker --discovery lan:nobody --host 0.0.0.0");
  });

  test("sees that too few files may be open", () => {
    const run = () =>
      execFileSync("sh", ["-c", `ulimit -n 200; "$0" "$1" doctor --json; true`, process.execPath, CLI], {
        encoding: "utf8",
      });
    expect(finder(run())("open files")).toEqual({
      subject: "open files",
      verdict: "bad",
      answer: "at most 200: each connection and worker needs some",
      fix: "run ulimit -n 4096",
    });
  });

  test.each([
    ["is open to others", "open", 0o755],
    ["makes socket paths too long", "x".repeat(90), 0o700],
  ])("sees that XDG_RUNTIME_DIR cannot be used where it %s", async (_why, name, mode) => {
    const session = join(folder, name);
    mkdirSync(session, { mode });
    const { find } = await doctor([], { XDG_RUNTIME_DIR: session, TMPDIR: folder });
    expect(find("runtime directory")).toMatchObject({
      verdict: "note",
      answer: expect.stringContaining(`XDG_RUNTIME_DIR is ${session}, but that directory cannot be used`),
      fix: expect.stringContaining("do not find each other"),
    });
    expect(find("socket paths")?.verdict).toBe("good");
  });

  test("uses an XDG_RUNTIME_DIR that is private", async () => {
    const session = join(folder, "mine");
    mkdirSync(session, { mode: 0o700 });
    const { find } = await doctor([], { XDG_RUNTIME_DIR: `${session}/` });
    expect(find("runtime directory")).toMatchObject({ verdict: "good", answer: `${session}/wool can be written` });
  });

  test("sees that there is no place for the runtime directory", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const { code, find } = await doctor([], { XDG_RUNTIME_DIR: "", TMPDIR: file, HOME: file });
    expect(code).toBe(1);
    expect(find("runtime directory")).toMatchObject({
      verdict: "bad",
      fix: "set XDG_RUNTIME_DIR to a directory that you own, with mode 0700",
    });
    // Other commands say so, too, on one line.
    const listed = await runProgram(CLI, { args: ["ps"], env: { XDG_RUNTIME_DIR: "", TMPDIR: file, HOME: file } });
    expect(listed).toMatchObject({ code: 1, stdout: "" });
    expect(listed.stderr).toMatch(
      /^wool: the runtime directory .* cannot be created \(ENOTDIR\)\. Set XDG_RUNTIME_DIR.*\n$/,
    );
  });

  describe("looks at the dates of certificates", () => {
    const soon = { notAfter: new Date(Date.now() + 3.5 * 24 * 3600 * 1000) };

    test.each([
      ["valid for long", {}, "good", /^valid for \d+ days$/, ""],
      ["valid for some days", soon, "note", /^expires in 3 days$/, "renew it: wool certs renew"],
      ["expired", EXPIRED, "bad", /^expired on /, "renew it: wool certs renew"],
      ["not yet valid", NOT_YET_VALID, "bad", /^not valid before /, "check the clock of this machine"],
    ] as const)("%s", async (_name, dates, verdict, answer, fix) => {
      const authority = new CertificateAuthority(CertificateAuthority.create());
      const { cert, key } = authority.issue({ role: "client", names: ["caller.example"], ...dates });
      const files = { ca: authority.cert, cert, key };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      const args = Object.keys(files).flatMap((name) => [`--${name}`, join(folder, name)]);
      const { code, find } = await doctor(args);
      expect(find(`certificate ${join(folder, "ca")}`)?.verdict).toBe("good");
      expect(find(`certificate ${join(folder, "cert")}`)).toMatchObject({
        verdict,
        answer: expect.stringMatching(answer),
        fix,
      });
      if (verdict === "bad") expect(code).toBe(1);
    });

    test("of a file that is none", async () => {
      const file = join(folder, "none.pem");
      writeFileSync(file, "no certificate");
      const { code, find } = await doctor(["--ca", file]);
      expect(code).toBe(1);
      expect(find(`certificate ${file}`)).toMatchObject({
        verdict: "bad",
        answer: expect.stringMatching(/^ca cannot be read: /),
        fix: "give a certificate in PEM form",
      });
    });
  });
});
