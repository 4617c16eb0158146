import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidArgument, WoolError } from "../errors.ts";
import { makePrivateDirectory, runtimeDirectory, uniqueName, userDirectoryName } from "./runtime-directory.ts";

const isRoot = process.getuid?.() === 0;

let scratch: string;
/** Not in the temporary directory of the tests, which they spoil. */
let elsewhere: string;

beforeEach(() => {
  [scratch, elsewhere] = [mkdtempSync(join(tmpdir(), "wool-test-")), mkdtempSync(join(tmpdir(), "wool-home-"))];
  vi.stubEnv("XDG_RUNTIME_DIR", undefined);
  vi.stubEnv("TMPDIR", scratch);
  // Nothing can be created there.
  vi.stubEnv("HOME", "/proc/nobody");
});

afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of [scratch, elsewhere]) rmSync(folder, { recursive: true, force: true });
});

function refusal(): string {
  try {
    runtimeDirectory();
  } catch (error) {
    expect(error).toBeInstanceOf(WoolError);
    return error instanceof Error ? error.message : "";
  }
  return "not refused";
}

describe("runtimeDirectory", () => {
  it("is the user's own folder in the temporary directory, closed to others", () => {
    const path = runtimeDirectory();
    expect(path).toBe(join(scratch, userDirectoryName()));
    expect(lstatSync(path).mode & 0o777).toBe(0o700);
    expect(runtimeDirectory()).toBe(path);
  });

  it("is inside XDG_RUNTIME_DIR when that is private", () => {
    const session = mkdtempSync(join(scratch, "session-"));
    vi.stubEnv("XDG_RUNTIME_DIR", session);
    expect(runtimeDirectory()).toBe(join(session, "wool"));
    expect(lstatSync(join(session, "wool")).mode & 0o777).toBe(0o700);
  });

  it.each([
    ["missing", () => join(scratch, "nowhere")],
    ["relative", () => "session"],
    ["open to others", () => makeOpen("session")],
    ["a symbolic link", () => makeLink("session")],
  ])("passes over an XDG_RUNTIME_DIR that is %s", (_case, session) => {
    vi.stubEnv("XDG_RUNTIME_DIR", session());
    expect(runtimeDirectory()).toBe(join(scratch, userDirectoryName()));
  });

  it("refuses a folder that others can enter", () => {
    const path = makeOpen(userDirectoryName());
    expect(refusal()).toMatch(`refusing to use ${path}: its mode 0750 lets other users in`);
    expect(refusal()).toMatch("Set XDG_RUNTIME_DIR");
  });

  it("refuses a symbolic link, even to a private folder", () => {
    makeLink(userDirectoryName());
    expect(refusal()).toMatch("it is a symbolic link");
  });

  it.runIf(isRoot)("refuses a folder of another user", () => {
    const path = join(scratch, userDirectoryName());
    mkdirSync(path, { mode: 0o700 });
    chownSync(path, 12_345, 12_345);
    expect(refusal()).toMatch("it belongs to user 12345 and not to you (user 0)");
  });

  it("refuses a place where others could replace the folder", () => {
    chmodSync(scratch, 0o777);
    expect(refusal()).toMatch("is writable for other users without the sticky bit");
    chmodSync(scratch, 0o1777);
    expect(runtimeDirectory()).toBe(join(scratch, userDirectoryName()));
  });

  it.runIf(isRoot)(
    "refuses a place that belongs to another user, who could replace the folder in spite of the sticky bit",
    () => {
      chmodSync(scratch, 0o1777);
      chownSync(scratch, 12_345, 12_345);
      expect(refusal()).toMatch("around it belongs to user 12345");
    },
  );

  it.each([
    ["has been taken by somebody", () => makeOpen(userDirectoryName())],
    ["is a symbolic link", () => makeLink(userDirectoryName())],
    ["could be replaced by others", () => chmodSync(scratch, 0o777)],
    ["cannot be made", () => vi.stubEnv("TMPDIR", join(scratch, "nowhere"))],
  ])("is in the home directory when the folder in the temporary directory %s", (_name, spoil) => {
    vi.stubEnv("HOME", elsewhere);
    spoil();
    expect(runtimeDirectory()).toBe(join(elsewhere, ".cache", "wool"));
    expect(lstatSync(runtimeDirectory()).mode & 0o777).toBe(0o700);
    expect(runtimeDirectory()).toBe(runtimeDirectory());
  });

  it("is in the home directory when the path of the temporary directory is too long for sockets", () => {
    const long = join(scratch, "x".repeat(68 - scratch.length - 1));
    mkdirSync(long);
    vi.stubEnv("TMPDIR", long);
    expect(refusal()).toMatch(
      /its path is too long for sockets, .* Set XDG_RUNTIME_DIR to a directory with a shorter path/,
    );
    vi.stubEnv("HOME", elsewhere);
    expect(runtimeDirectory()).toBe(join(elsewhere, ".cache", "wool"));
    vi.stubEnv("HOME", "/proc/nobody");
    const short = long.slice(0, -8);
    mkdirSync(short);
    vi.stubEnv("TMPDIR", short);
    expect(runtimeDirectory()).toBe(join(short, userDirectoryName()));
  });

  it("says what to do when it cannot be created", () => {
    vi.stubEnv("TMPDIR", join(scratch, "nowhere"));
    expect(refusal()).toMatch(/cannot be created \(ENOENT\)\. Set XDG_RUNTIME_DIR/);
  });
});

describe("makePrivateDirectory", () => {
  it("makes the folder, and the runtime directory again when that was tidied away", () => {
    rmSync(runtimeDirectory(), { recursive: true });
    const path = makePrivateDirectory("pool-1");
    expect(path).toBe(join(runtimeDirectory(), "pool-1"));
    expect(lstatSync(path).mode & 0o777).toBe(0o700);
    expect(makePrivateDirectory("pool-1")).toBe(path);
  });

  it.each(["", ".", "..", "a/b", "../x", "a b"])("refuses the name %j", (name) => {
    expect(() => makePrivateDirectory(name)).toThrow(InvalidArgument);
  });
});

describe("uniqueName", () => {
  it("is short, plain and never the same", () => {
    const names = Array.from({ length: 1000 }, uniqueName);
    expect(new Set(names).size).toBe(1000);
    expect(names.every((name) => /^[0-9a-z]{10}$/.test(name))).toBe(true);
  });
});

function makeOpen(name: string): string {
  const path = join(scratch, name);
  mkdirSync(path);
  chmodSync(path, 0o750);
  return path;
}

function makeLink(name: string): string {
  const path = join(scratch, name);
  symlinkSync(mkdtempSync(join(scratch, "target-")), path);
  return path;
}
