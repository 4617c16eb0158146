import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { LocalWorker, routine, WorkerConnection } from "wool-ts";

const raw = (bytes: Buffer): Buffer => bytes;

/** Sends bytes as a `StopRequest`. Resolves with the code of the status. */
function requestStop(client: Client, bytes: number[]): Promise<number> {
  return new Promise((resolve) => {
    client.makeUnaryRequest("/wool.v1.Worker/Stop", raw, raw, Buffer.from(bytes), (error: ServiceError | null) =>
      resolve(error?.code ?? status.OK),
    );
  });
}

const wait = routine(async (ms: number) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return "done";
});

test("what is no StopRequest is refused and changes nothing; one with more in it than is known is understood", async () => {
  const worker = new LocalWorker({ host: "127.0.0.1" });
  await worker.start();
  await using connection = new WorkerConnection(worker.address as string);
  const client = new Client(worker.address as string, credentials.createInsecure());
  try {
    const running = connection.dispatch(wait, 500);
    expect(await requestStop(client, [0xff, 0xff, 0xff])).toBe(status.INVALID_ARGUMENT);
    expect(await running).toBe("done");
    const last = connection.dispatch(wait, 500);
    // So that it has been started when the worker is told to take no more.
    expect(await connection.dispatch(wait, 0)).toBe("done");
    // An unknown field, then to wait for all.
    const stopped = requestStop(client, [0x10, 5, 0x08, 1]);
    expect(await last).toBe("done");
    expect(await stopped).toBe(status.OK);
  } finally {
    client.close();
    await worker.stop();
  }
});
