/** Sessions with messages that are nearly right. */
import { message } from "./http2-frames.mjs";
import { connectLane, welcomed } from "./lanes.mjs";
import { mutateMessage } from "./mutate.mjs";

const SESSIONS_AT_ONCE = 16;
/** Messages before a check whether the worker has ended the session: nothing after a fault is read. */
const BATCH = 4;
/** How long a task thread may take to read a batch, in milliseconds. */
const READING_MS = 2;

/** Sends `count` messages; whenever the worker ends a session, the next one goes on. */
export async function fuzzSessions(victim, random, recorded, count, corpus) {
  const tally = { inputs: 0, sessions: 0, lanes: 0 };
  const attack = async () => {
    while (tally.inputs < count) {
      tally.sessions++;
      await fuzzSession(victim, random, recorded, corpus, tally, count);
    }
  };
  await Promise.all(Array.from({ length: SESSIONS_AT_ONCE }, attack));
  return tally;
}

async function fuzzSession(victim, random, { hello, messages, frames }, corpus, tally, count) {
  const { session, stream, lane } = await welcomed(
    victim.path,
    random.chance(20) ? mutateMessage(random, [hello]) : hello,
  );
  // Half of them send their messages straight to the task thread.
  const socket = lane !== undefined && random.chance(2) ? await connectLane(lane.path) : undefined;
  socket?.write(message(lane.ticket));
  if (socket !== undefined) tally.lanes++;
  // Valid messages come first, so that the later ones have something to refer to.
  const setting = messages.slice(0, random.integer(messages.length + 1));
  const isOver = () => stream.destroyed || session.destroyed || socket?.destroyed === true;
  for (let round = 0; round < 100 && tally.inputs < count && !isOver(); round++) {
    for (let i = 0; i < BATCH; i++) {
      tally.inputs++;
      const bytes = setting.shift() ?? (random.chance(50) ? random.pick(corpus) : mutateMessage(random, frames));
      // Sometimes a message comes from the other direction.
      const way = random.chance(50) ? stream : (socket ?? stream);
      way.write(message(bytes, random.chance(500) ? random.integer(2 ** 31) : bytes.length));
    }
    await answered(session, stream);
  }
  if (random.chance(2)) socket?.destroy();
  else socket?.end();
  session.destroy();
}

/**
 * Resolves when the stream is over, or when the worker has answered a PING and had a moment to read what was sent. Its
 * gRPC thread answers a PING at once.
 */
function answered(session, stream) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stream.off("close", done);
      resolve();
    };
    const timer = setTimeout(done, 1000);
    stream.once("close", done);
    try {
      session.ping(() => setTimeout(done, READING_MS));
    } catch {
      done();
    }
  });
}
