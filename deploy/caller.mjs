// Waits for two workers, and asks every worker where it runs: WORKERS=dns:workers:9000 node caller.mjs
import { hostname } from "node:os";
import { routine, WorkerPool } from "wool-ts";

const where = routine(async () => `${hostname()}, process ${process.pid}`);

const pool = await WorkerPool.start({ discovery: process.env.WORKERS ?? "dns:workers:9000", quorum: 2 });
const answers = await pool.broadcast(where);
for (const answer of answers) {
  console.log(answer.uid, answer.status === "fulfilled" ? answer.value : answer.reason);
}
console.log(`${answers.length} workers`);
await pool.stop();
