import { isDeepStrictEqual } from "node:util";
import { checkAnswer, closedLoop } from "../harness/closed-loop.mjs";

/** An object of about 1 KB as JSON, as programs typically send. */
function record(id) {
  return {
    id,
    name: "order",
    customer: { name: "a name of some length", email: "someone@example.test", active: true, score: 0.75 },
    lines: Array.from({ length: 8 }, (_, i) => ({
      sku: `item-${1000 + i}`,
      quantity: i + 1,
      price: 9.99 + i,
      tags: ["a", "b"],
    })),
    notes: "x".repeat(256),
    total: 1234.5,
  };
}

async function loop(contender, { durationMs }) {
  const records = Array.from({ length: 128 }, (_, i) => record(i));
  const recordOf = (i) => records[i % records.length];
  for (const sent of records) checkAnswer(isDeepStrictEqual(await contender.echo(sent), sent), "the echo of a record");
  return await closedLoop({
    concurrency: 100,
    durationMs,
    call: (i) => contender.echo(recordOf(i)),
    // Comparing all of it at every call would measure the comparison.
    check: (result, i) => result.id === recordOf(i).id && result.lines.length === 8 && result !== recordOf(i),
  });
}

export const points = [
  {
    name: "dispatch/object-100",
    title: "echo an object of 1 KB, 100 in flight",
    unit: "calls/s",
    better: "more",
    contenders: ["wool", "piscina", "piscina-tuned", "grpc", "ipc"],
    targets: { piscina: 3 },
    warmUp: loop,
    measure: loop,
  },
];
