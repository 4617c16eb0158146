import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalWorker } from "wool-ts";
import { TestAuthority } from "../../support/certificates.ts";

let warnings: Error[];
const listener = (warning: Error): void => {
  if (warning.name === "WoolWarning") warnings.push(warning);
};

beforeEach(() => {
  warnings = [];
  process.on("warning", listener);
});
afterEach(() => process.off("warning", listener));

test.each([
  ["0.0.0.0", "anyone who can reach it there"],
  ["127.0.0.1", "every user of this machine"],
  ["localhost", "every user of this machine"],
])("a worker that listens on %s without credentials warns of it, once", async (host, who) => {
  await using worker = new LocalWorker({ host });
  await worker.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.map(({ message }) => message)).toEqual([
    `worker ${worker.uid} listens on ${host} without credentials: ${who} can run code in it. Give it credentials, or no ` +
      "host, so that it listens on a private unix socket",
  ]);
});

test.each([
  ["on a private socket", {}],
  ["with credentials", { host: "127.0.0.1", credentials: new TestAuthority().worker() }],
])("one %s does not", async (_name, options) => {
  await using worker = new LocalWorker(options);
  await worker.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
