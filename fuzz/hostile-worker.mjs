/** A worker that answers with nonsense, against a caller in a process of its own. */
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { message } from "./http2-frames.mjs";
import { contentHash, mutateMessage } from "./mutate.mjs";
import { bytesField, integerField } from "./protobuf.mjs";

const welcome = bytesField(1, Buffer.concat([integerField(1, 1), bytesField(2, Buffer.from("w")), integerField(3, 1)]));
const outcome = (field, id, value) => bytesField(field, Buffer.concat([integerField(1, id), bytesField(2, value)]));
const VALUE = Buffer.from([0x02, 0x01]);
/** Accepted, rejected, result, yielded, raised, chunk, dependency, executor lost, pace: each as a worker would send it. */
const frames = [
  bytesField(2, integerField(1, 0)),
  bytesField(3, Buffer.concat([integerField(1, 1), integerField(2, 8), bytesField(3, Buffer.from("busy"))])),
  outcome(4, 0, VALUE),
  outcome(5, 2, VALUE),
  outcome(6, 3, VALUE),
  bytesField(7, Buffer.concat([integerField(1, 0), bytesField(2, Buffer.alloc(100)), integerField(3, 1000)])),
  bytesField(
    8,
    Buffer.concat([
      integerField(1, 1),
      bytesField(2, Buffer.from(contentHash("{}"))),
      bytesField(3, Buffer.from("{}")),
    ]),
  ),
  bytesField(9, bytesField(1, Buffer.from("gone"))),
  bytesField(10, integerField(1, 5)),
];

/** Answers a caller with `count` messages in all. Tells how the caller fared. */
export async function fuzzCaller(random, count) {
  const folder = mkdtempSync(join(tmpdir(), "wool-hostile-"));
  const server = createServer();
  let sent = 0;
  server.on("sessionError", () => undefined);
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.resume();
    const greeting = random.chance(20) ? mutateMessage(random, [welcome]) : welcome;
    stream.write(message(greeting));
    const answer = () => {
      for (let i = 0; i < 20; i++) {
        if (stream.destroyed || sent >= count) return;
        sent++;
        const bytes = mutateMessage(random, frames);
        if (!stream.write(message(bytes, random.chance(200) ? random.integer(2 ** 31) : bytes.length))) {
          stream.once("drain", answer);
          return;
        }
      }
      setImmediate(answer);
    };
    stream.once("data", answer);
  });
  const path = join(folder, "s");
  await new Promise((resolve) => server.listen(path, resolve));
  const caller = fork(new URL("attacked-caller.mjs", import.meta.url), [`unix:${path}`]);
  let [peak, worst, ended] = [0, 0, undefined];
  caller.on("message", ({ lag }) => (worst = Math.max(worst, lag)));
  caller.on("exit", (code, signal) => (ended = `${code ?? signal}`));
  const memory = () => {
    try {
      peak = Math.max(
        peak,
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${caller.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
      );
    } catch {
      // It has ended, and that is noted.
    }
  };
  const end = performance.now() + 600_000;
  while (sent < count && ended === undefined && performance.now() < end) {
    memory();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const crashed = ended;
  if (ended === undefined) {
    const gone = new Promise((resolve) => caller.once("exit", resolve));
    caller.kill("SIGKILL");
    await gone;
  }
  server.close();
  rmSync(folder, { recursive: true });
  return { inputs: sent, peak, worst, crashed };
}
