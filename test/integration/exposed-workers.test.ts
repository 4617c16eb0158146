import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalWorker } from "wool-ts";

let warnings: Error[];
const listener = (warning: Error): void => {
  if (warning.name === "WoolWarning") warnings.push(warning);
};

beforeEach(() => {
  warnings = [];
  process.on("warning", listener);
});
afterEach(() => process.off("warning", listener));

test("a worker that listens for others than this machine warns of it, once", async () => {
  await using worker = new LocalWorker({ host: "0.0.0.0" });
  await worker.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.map(({ message }) => message)).toEqual([
    `worker ${worker.uid} listens on 0.0.0.0 without credentials: anyone who can reach it there can run code in it`,
  ]);
});

test.each([undefined, "127.0.0.1", "localhost"])("one that listens on %s does not", async (host) => {
  await using worker = new LocalWorker(host === undefined ? {} : { host });
  await worker.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
