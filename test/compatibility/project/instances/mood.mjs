import kit from "instance-kit";
import { routine, WorkerPool } from "wool-ts";

const mood = kit.mood();
const say = routine((it) => [mood.say(), it.say()]);

const pool = await WorkerPool.start({ size: 1, workerOptions: { env: { KIT_MOOD: "busy" } } });
try {
  process.stdout.write(JSON.stringify([await say(kit.mood()), await say(mood)]));
} finally {
  await pool.stop();
}
