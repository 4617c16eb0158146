/** Greed with data that has to wait: for shared values that never come, or for a generator that is busy. */
import { share as announced, frame, mb, needs, pause, repeated, task, text } from "./greedy-caller.mjs";
import { contentHash } from "./mutate.mjs";
import { bytesField, integerField, varint } from "./protobuf.mjs";

const hashes = (prefix, i) => contentHash(`${prefix} ${i}`);

export const waitingAttacks = {
  "one shared value announced 90,000 times": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const count = 90_000 * share;
    await stream.pour(count / 900, (k) => repeated(900, (i) => announced(k * 900 + i + 1, hashes("one", 0), 1000)));
    const all = Array.from({ length: count }, (_, i) => i + 1);
    await stream.pour(3, (i) => task(i, "bytes", [1], needs(all)));
    await pause(2000);
    return [stream, `${count} announcements`];
  },
  "90,000 shared values of 1 GB announced and asked for": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const count = 90_000 * share;
    await stream.pour(count / 900, (k) =>
      repeated(900, (i) => announced(k * 900 + i + 1, hashes("many", k * 900 + i), 1e9)),
    );
    await stream.pour(count / 900, (k) =>
      repeated(900, (i) => task(k * 900 + i, "bytes", [1], needs([k * 900 + i + 1]))),
    );
    await pause(1000);
    return [stream, `${count} announcements`];
  },
  "tasks of 200 kB that wait for a shared value": async ({ session, share }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => announced(1, hashes("awaited", 0), 1000));
    const large = "x".repeat(200_000);
    const sent = await stream.pour(20_000 * share, (i) => task(i, "bytes", [1, large], needs([1])));
    return [stream, `${sent} tasks, ${mb(sent * large.length)}`];
  },
  "steps of 200 kB that wait for a shared value": async ({ session, share }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => announced(1, hashes("awaited", 1), 1000));
    await stream.pour(1, () => task(0, "endless", [1]));
    const value = JSON.stringify("x".repeat(200_000));
    const sent = await stream.pour(9000 * share, () =>
      frame("step", integerField(1, 0), integerField(2, 1), text(3, value), bytesField(4, varint(1))),
    );
    return [stream, `${sent} steps, ${mb(sent * value.length)}`];
  },
  "tasks with 200 kB of names that never end": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const name = "n".repeat(200_000);
    const sent = await stream.pour(20_000 * share, (i) => task(i, "stuck", [], text(6, name), text(13, name)));
    return [stream, `${sent} tasks, ${mb(sent * 2 * name.length)}`];
  },
  "a step that says there were 4 billion before": async ({ session }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => task(0, "endless", [10]));
    await stream.pour(1, () => frame("step", integerField(1, 0), integerField(2, 2), integerField(7, 2 ** 32 - 1)));
    await pause(1000);
    return [stream, "1 step"];
  },
  "shared values that nobody asked for": async ({ session, share }) => {
    const stream = session();
    stream.read();
    await stream.pour(1, () => announced(1, hashes("unasked", 0), 200_000));
    const value = Buffer.alloc(200_000);
    const sent = await stream.pour(5000 * share, () => frame("shared", integerField(1, 1), bytesField(2, value)));
    return [stream, `${mb(sent * value.length)}`];
  },
  "shared values announced and dropped": async ({ session, share }) => {
    const stream = session();
    stream.read();
    const sent = await stream.pour(1000 * share, (k) =>
      repeated(1000, (i) =>
        Buffer.concat([
          announced(k * 1000 + i + 1, hashes("brief", i), 1000),
          frame("dropped", integerField(1, k * 1000 + i + 1)),
        ]),
      ),
    );
    return [stream, `${sent * 1000} values`];
  },
};
