import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { separateLines } from "./task-lines.ts";

it("keeps the lines of tasks apart, and the pieces of one line together", () => {
  const stream = new PassThrough();
  let task: object | undefined;
  separateLines(stream, () => task);
  const [a, b] = [{}, {}];
  const write = (who: object | undefined, chunk: string | Uint8Array): void => {
    task = who;
    stream.write(chunk);
  };
  write(a, "in ");
  write(a, "pieces\n");
  write(a, "no end");
  write(b, Buffer.from("of b\n"));
  write(b, "");
  write(undefined, "outside");
  write(b, Buffer.from("again"));
  write(b, "\n");
  expect(String(stream.read())).toBe("in pieces\nno end\nof b\noutside\nagain\n");
});
