import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MAX_SOCKET_PATH_BYTES } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { bindablePath } from "./pool-directory.ts";

describe("bindablePath", () => {
  it("takes a path up to the system's limit, counted in bytes", () => {
    const longest = `/${"x".repeat(MAX_SOCKET_PATH_BYTES - 1)}`;
    expect(bindablePath(longest)).toBe(longest);
    expect(() => bindablePath(`${longest}x`)).toThrow(InvalidArgument);
    expect(() => bindablePath(`/${"é".repeat(Math.ceil(MAX_SOCKET_PATH_BYTES / 2))}`)).toThrow(InvalidArgument);
  });

  it("knows the limit of the system", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wool-test-"));
    const path = join(folder, "x".repeat(MAX_SOCKET_PATH_BYTES - Buffer.byteLength(folder) - 1));
    const server = createServer().listen(bindablePath(path));
    await once(server, "listening");
    expect(existsSync(path)).toBe(true);
    server.close();
    await once(server, "close");
    rmSync(folder, { recursive: true });
  });

  it("names the path and the variable to set", () => {
    const path = `/${"x".repeat(200)}`;
    expect(() => bindablePath(path)).toThrow(`the socket path ${path} has 201 bytes`);
    expect(() => bindablePath(path)).toThrow("set XDG_RUNTIME_DIR");
  });
});
