import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { CertificateAuthority, clientTls, credentialsText, serverTls, WorkerCredentials } from "./index.ts";

const authority = new CertificateAuthority(CertificateAuthority.create());
const pair = authority.issue({ role: "worker", names: ["w.example", "10.0.0.1"] });
const material = { ca: authority.cert, ...pair };

describe("WorkerCredentials", () => {
  it("tell names and expiry, and never the key", () => {
    const credentials = new WorkerCredentials(material);
    expect([credentials.names, credentials.mutual]).toEqual([["w.example", "10.0.0.1"], true]);
    expect(credentials.expires?.getTime()).toBeGreaterThan(Date.now());
    const shown = [inspect(credentials, { showHidden: true }), JSON.stringify(credentials), String(credentials)].join();
    expect(shown).not.toContain("PRIVATE KEY");
  });

  it("take text and bytes, and several authorities", () => {
    const other = CertificateAuthority.create();
    const credentials = new WorkerCredentials({
      ca: Buffer.from(authority.cert + other.cert),
      key: Buffer.from(pair.key),
      cert: pair.cert,
    });
    expect(credentialsText(credentials).ca).toContain(other.cert);
  });

  it.each([
    [undefined, "takes { ca, key, cert }, not undefined"],
    [
      { ...material, ca: "/etc/ca.pem" },
      "ca must be PEM, which begins with -----BEGIN, not a text without it; use WorkerC",
    ],
    [{ ...material, ca: pair.key }, "ca is not a certificate"],
    [{ ...material, key: undefined }, "key must be PEM, which begins with -----BEGIN, not nothing"],
    [{ ...material, cert: 7 }, "cert must be PEM, which begins with -----BEGIN, not 7"],
    [{ ...material, key: authority.issue({ role: "client" }).key }, "key does not belong to cert"],
    [{ ...material, key: pair.cert }, "key is not a private key that can be used"],
    [{ ca: authority.cert }, "key must be PEM"],
    [{ ...material, mutual: "yes" }, 'mutual must be true or false, not "yes"'],
  ])("refuse %#", (given, message) => {
    const make = () => new WorkerCredentials(given as never);
    expect(make).toThrow(InvalidArgument);
    expect(make).toThrow(message);
  });

  it("need no key where only the worker shows a certificate", () => {
    const bare = credentialsText(new WorkerCredentials({ ca: authority.cert, mutual: false }));
    expect(clientTls(bare, undefined)).toEqual({ ca: authority.cert });
  });

  it("show a caller's certificate, and ask for one, only where that is mutual", () => {
    const [mutual, oneWay] = [true, false].map((each) =>
      credentialsText(new WorkerCredentials({ ...material, mutual: each })),
    );
    if (mutual === undefined || oneWay === undefined) throw new Error("unreachable");
    expect([clientTls(mutual, undefined).key, clientTls(oneWay, undefined).key]).toEqual([pair.key, undefined]);
    expect([serverTls(mutual).requestCert, serverTls(oneWay).requestCert]).toEqual([true, false]);
  });
});

describe("WorkerCredentials.fromFiles", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "wool-credentials-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("reads them, and names the one that it cannot read", async () => {
    const files = { ca: join(directory, "ca"), key: join(directory, "key"), cert: join(directory, "cert") };
    writeFileSync(files.ca, material.ca);
    writeFileSync(files.key, material.key);
    await expect(WorkerCredentials.fromFiles(files)).rejects.toThrow(/cert cannot be read: ENOENT.*\/cert'/);
    writeFileSync(files.cert, material.cert);
    expect((await WorkerCredentials.fromFiles(files)).names).toEqual(["w.example", "10.0.0.1"]);
    expect((await WorkerCredentials.fromFiles({ ...files, mutual: false })).mutual).toBe(false);
    await expect(WorkerCredentials.fromFiles({ ca: "" })).rejects.toThrow('ca must be the path of a file, not ""');
  });
});
