import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InvalidArgument } from "../../errors.ts";
import { CertificateFolder, describeCertificate } from "./index.ts";

let parent: string;
let folder: CertificateFolder;
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const file = (name: string): string => join(folder.path, name);
const WORKER = { role: "worker", names: ["w.example"] } as const;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "wool-folder-"));
  folder = new CertificateFolder(join(parent, "certs"));
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("CertificateFolder", () => {
  it("keeps keys for their owner, whatever the process allows by default", () => {
    const before = process.umask(0);
    try {
      folder.createAuthority(undefined, {}, false);
      folder.issue("worker", WORKER, false);
    } finally {
      process.umask(before);
    }
    expect(readdirSync(folder.path).sort()).toEqual(["ca.key", "ca.pem", "worker.key", "worker.pem"]);
    expect([folder.path, file("ca.key"), file("worker.key")].map(mode)).toEqual(["700", "600", "600"]);
    expect([file("ca.pem"), file("worker.pem")].map(mode)).toEqual(["644", "644"]);
  });

  it("overwrites nothing unless it is told to", () => {
    folder.createAuthority("first", {}, false);
    expect(() => folder.createAuthority("second", {}, false)).toThrow(/ca\.key and .*ca\.pem would be overwritten/);
    expect(folder.describe("ca").commonName).toBe("first");
    folder.createAuthority("second", {}, true);
    expect(folder.describe("ca").commonName).toBe("second");
  });

  it("renews a certificate and leaves its key", () => {
    folder.createAuthority(undefined, {}, false);
    folder.issue("worker", { ...WORKER, days: 1 }, false);
    const [key, before] = [readFileSync(file("worker.key"), "utf8"), folder.describe("worker")];
    folder.renew("worker", {});
    const after = folder.describe("worker");
    expect(readFileSync(file("worker.key"), "utf8")).toBe(key);
    expect([after.names, after.problems, folder.names]).toEqual([["w.example"], [], ["worker"]]);
    expect(after.validTo.getTime()).toBeGreaterThan(before.validTo.getTime());
    expect(readdirSync(folder.path).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("tells what is wrong with certificates and keys", () => {
    folder.createAuthority(undefined, {}, false);
    folder.issue("old", { ...WORKER, notBefore: new Date(0), notAfter: new Date(1000) }, false);
    folder.issue("early", { ...WORKER, notBefore: new Date(Date.now() + 1e7) }, false);
    folder.issue("open", WORKER, false);
    chmodSync(file("open.key"), 0o644);
    folder.issue("swapped", WORKER, false);
    writeFileSync(file("swapped.key"), readFileSync(file("ca.key")));
    folder.issue("broken", WORKER, false);
    writeFileSync(file("broken.key"), "no key");
    const problems = Object.fromEntries(folder.describeAll().map((report) => [report.name, report.problems.join()]));
    expect(problems).toEqual({
      ca: "",
      old: "it has expired: renew it",
      early: "it is not valid yet: check the clock",
      open: `others may read its key: chmod 600 ${file("open.key")}`,
      swapped: `${file("swapped.key")} is not its key`,
      broken: `${file("broken.key")} cannot be read as a key`,
    });
    folder.createAuthority(undefined, {}, true);
    expect(folder.describe("open").problems).toContain("the authority in this folder did not issue it");
  });

  it("refuses what it cannot do", () => {
    expect(() => folder.issue("worker", WORKER, false)).toThrow("make one first with `wool certs init`");
    folder.createAuthority(undefined, {}, false);
    for (const name of ["", "ca", "../x", "a/b", ".hidden"]) {
      expect(() => folder.issue(name, WORKER, false)).toThrow(InvalidArgument);
    }
    expect(() => folder.renew("nobody", {})).toThrow(/nobody\.pem cannot be read/);
    expect(() => describeCertificate(file("ca.key"))).toThrow(/ca\.key is not a certificate/);
  });
});
