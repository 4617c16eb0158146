import { writeFileSync } from "node:fs";
import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { LocalWorker } from "wool-ts";
import { type Response, Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { freePort } from "../../support/free-port.ts";
import { type GrpcStream, GrpcWorker } from "../../support/grpc-worker.ts";
import { useNoteFiles } from "../../support/note-files.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { until } from "../../support/until.ts";
import { hello, request } from "../../support/wire-requests.ts";

const makeNote = useNoteFiles();

expectNothingLeft();

/** A session with the first task thread, when that has answered a first task. */
async function answeredSession(client: GrpcWorker): Promise<GrpcStream<Response>> {
  const session = client.open(Worker.method.dispatch);
  session.send(hello());
  session.send(request({ tasks: [{ id: 1, route: 42, sequence: 1n }] }));
  expect((await session.message(1)).rejected).toMatchObject([{ id: 1 }]);
  return session;
}

test("a thread that ends while others still start is replaced, and later callers get answers", async () => {
  const [ends, goesOn] = [makeNote(), makeNote()];
  const setup = async (): Promise<void> => {
    const { readFileSync } = await import("node:fs");
    const { threadId } = await import("node:worker_threads");
    const isTold = (file: string): boolean => readFileSync(file, "utf8") !== "";
    if (threadId === 1) {
      setInterval(() => {
        if (isTold(ends)) process.exit(3);
      }, 5);
    } else if (threadId === 2) {
      while (!isTold(goesOn)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const port = await freePort();
  await using worker = new LocalWorker({ host: "127.0.0.1", port, threads: 2, setup });
  const started = worker.start();
  using client = new GrpcWorker(`127.0.0.1:${port}`, { "grpc.initial_reconnect_backoff_ms": 100 });
  let session: GrpcStream<Response> | undefined;
  await until(async () => {
    session = await answeredSession(client).catch(() => undefined);
    return session !== undefined;
  }, "the first thread answers");
  writeFileSync(ends, "now");
  expect((await session?.ended)?.code).toBe(status.UNAVAILABLE);
  (await answeredSession(client)).cancel();
  writeFileSync(goesOn, "now");
  await started;
  (await answeredSession(client)).cancel();
});
