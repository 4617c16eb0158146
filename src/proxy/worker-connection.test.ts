import { afterEach, describe, expect, it, vi } from "vitest";
import { WorkerLink } from "../connection/worker-link.ts";
import { PoolClosed, UnexpectedResponse } from "../errors.ts";
import { encodeIdleResponse } from "../wire/index.ts";
import { WorkerConnection } from "./worker-connection.ts";

const ADDRESS = "127.0.0.1:1";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A connection to a worker that answers everything with these bytes. */
function connect(answer: Uint8Array) {
  const unary = vi.spyOn(WorkerLink.prototype, "unary").mockResolvedValue(answer);
  return { connection: new WorkerConnection(ADDRESS), unary };
}

describe("a WorkerConnection", () => {
  it("that was disposed of asks the worker nothing more", async () => {
    const { connection, unary } = connect(new Uint8Array(0));
    expect(await connection.idleTime()).toBe(0);
    await connection[Symbol.asyncDispose]();
    unary.mockClear();
    await expect(connection.idleTime()).rejects.toThrow(PoolClosed);
    await expect(connection.stop()).rejects.toThrow(PoolClosed);
    expect(unary).not.toHaveBeenCalled();
  });

  it.each([
    ["bytes that are no answer", Uint8Array.of(0xff, 0xff)],
    ["less than nothing", encodeIdleResponse(-1)],
    ["no number", encodeIdleResponse(Number.NaN)],
  ])("takes no nonsense for an idle time: %s", async (_name, answer) => {
    const { connection } = connect(answer);
    await expect(connection.idleTime()).rejects.toThrow(UnexpectedResponse);
    await connection[Symbol.asyncDispose]();
  });
});
