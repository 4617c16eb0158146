import { expect, test } from "vitest";
import { LAST_RESPONSE_FIELD, ResponseField } from "../../wire/fields.ts";
import { FrameReader } from "../../wire/frame-reader.ts";
import { Outbox } from "../../wire/outbox.ts";
import { writeAccepted } from "../../wire/response-frames.ts";
import { PendingOutput } from "./pending-output.ts";

/** A session, and the kinds of the frames in each message that it has sent. */
function session() {
  const messages: number[][] = [];
  const send = (message: Buffer): boolean => {
    const frame = new FrameReader(LAST_RESPONSE_FIELD).open(message, 0, message.length);
    const kinds: number[] = [];
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) kinds.push(kind);
    messages.push(kinds);
    return true;
  };
  const outbox = new Outbox({ send }, 0, ResponseField.chunk);
  return { messages, outbox, flush: () => outbox.flush(), write: () => writeAccepted(outbox.writer, 1) };
}

test("reports how long tasks take with the next message when a part of the results took the last ones along", () => {
  let told = 0;
  const output = new PendingOutput({ board: { taskEnded: () => told++ }, isQuiet: () => true, sent: () => undefined });
  const one = session();
  one.write();
  output.taskEnded();
  output.add(one);
  expect([output.isEmpty, output.has(one)]).toEqual([false, true]);
  output.send();
  expect([output.isEmpty, one.messages]).toEqual([true, [[ResponseField.accepted]]]);
  output.flush();
  expect([told, one.messages.length]).toEqual([1, 1]);
  one.write();
  output.add(one);
  output.flush();
  expect(one.messages[1]).toEqual([ResponseField.accepted, ResponseField.pace]);
});
