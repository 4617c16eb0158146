import { describe, expect, it } from "vitest";
import { BatchWriter } from "../../wire/batch-writer.ts";
import { writeCancel, writePlainTask } from "../../wire/request-frames.ts";
import { UntakenMessages } from "./untaken-messages.ts";

const NOTHING = new Uint8Array(0);

function message(...ids: number[]): Buffer {
  const writer = new BatchWriter(0);
  for (const id of ids) writePlainTask(writer, id, 1, NOTHING, 0, 0, id, 0);
  writeCancel(writer, 99, NOTHING, []);
  return writer.take();
}

describe("UntakenMessages", () => {
  it("knows the tasks of messages that were not taken in", () => {
    const untaken = new UntakenMessages();
    let posted = 2 ** 31 - 20;
    const add = (session: number, consumed: number, ...ids: number[]): number => {
      const bytes = message(...ids);
      // The counters wrap around.
      posted = (posted + bytes.length) | 0;
      untaken.add(session, bytes, 0, bytes.length, posted, consumed);
      return posted;
    };
    const first = add(1, posted, 1, 2);
    const second = add(2, posted - 1, 3);
    const third = add(1, first, 4, 5);
    expect(untaken.taskIds(first)).toEqual(
      new Map([
        [2, [3]],
        [1, [4, 5]],
      ]),
    );
    expect(untaken.taskIds(second)).toEqual(new Map([[1, [4, 5]]]));
    expect(untaken.taskIds(third)).toEqual(new Map());
  });

  it("takes what it can from a message that cannot be read to its end", () => {
    const untaken = new UntakenMessages();
    const bytes = Buffer.concat([message(7), Buffer.from([0xff, 0xff])]);
    untaken.add(1, bytes, 0, bytes.length, 10, 0);
    expect(untaken.taskIds(0)).toEqual(new Map([[1, [7]]]));
  });
});
