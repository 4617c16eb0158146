import { checkAnswer, closedLoop } from "../harness/closed-loop.mjs";

const MEGABYTE = 1024 * 1024;
const CONTENDERS = ["wool", "piscina", "grpc", "ipc-advanced"];

function randomBytes(length) {
  const bytes = new Uint8Array(length);
  const words = new Uint32Array(bytes.buffer);
  let state = 1;
  for (let i = 0; i < words.length; i++) words[i] = state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return bytes;
}

const isCopy = (result, sent) => result !== sent && Buffer.compare(result, sent) === 0;

async function megabytes(contender, { durationMs }) {
  const sent = randomBytes(MEGABYTE);
  checkAnswer(isCopy(await contender.echo(sent), sent), "the echo of 1 MB");
  const { value } = await closedLoop({
    concurrency: 8,
    durationMs,
    call: () => contender.echo(sent),
    check: (result, i) => result.length === sent.length && result[i % sent.length] === sent[i % sent.length],
  });
  return { value };
}

async function hundredMegabytes(contender) {
  const sent = randomBytes(100 * MEGABYTE);
  const began = performance.now();
  const result = await contender.echo(sent);
  const value = performance.now() - began;
  checkAnswer(isCopy(result, sent), "the echo of 100 MB");
  return { value };
}

export const points = [
  {
    name: "payload/1mb-8",
    title: "echo 1 MB of bytes, 8 in flight",
    unit: "calls/s",
    better: "more",
    contenders: CONTENDERS,
    targets: { piscina: 0.5 },
    warmUp: megabytes,
    measure: megabytes,
  },
  {
    name: "payload/100mb",
    title: "echo 100 MB of bytes once",
    unit: "ms",
    better: "less",
    rounds: 3,
    contenders: CONTENDERS,
    targets: { "ipc-advanced": 1 },
    floors: { "ipc-advanced": 0.4 },
    warmUp: megabytes,
    measure: hundredMegabytes,
  },
];
