import { checkAnswer } from "../harness/closed-loop.mjs";
import { cpuTimeOf } from "../harness/cpu-time.mjs";

const IN_FLIGHT = 100;
const CALLS = 2_000;
/** The engine keeps optimizing for about this many calls. */
const WARM_UP_CALLS = 1_000_000;

const WAYS = {
  asking: {},
  "asking-again": {},
  "not-asking": { asks: false },
  "heard-by-caller": { callerHears: true },
  "heard-by-workers": { workersHear: true },
};

/** The CPU time of a call in all processes, in microseconds: independent of how long threads wait for each other. */
async function costOfCall(contender, calls) {
  const pids = contender.pids();
  let made = 0;
  const lane = async () => {
    while (made < calls) {
      const i = made++;
      checkAnswer((await contender.add(i, 1)) === i + 1, `call ${i}`);
    }
  };
  const before = cpuTimeOf(pids);
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return (cpuTimeOf(pids) - before) / calls;
}

const point = (what, title, contenders, targets) => ({
  name: `dispatch/${what}-${IN_FLIGHT}`,
  title: `CPU time of adding two numbers, ${IN_FLIGHT} in flight: ${title}`,
  unit: "us/call",
  better: "less",
  inside: "wool-listening",
  contenders,
  targets,
  turns: 300,
  async warmUp(contender, { quick }) {
    const turns = (quick ? WARM_UP_CALLS / 2 : WARM_UP_CALLS) / CALLS;
    for (let i = 0; i < turns; i++) {
      await contender.choose(WAYS[contenders[i % contenders.length]]);
      await costOfCall(contender, CALLS);
    }
  },
  async measure(contender, { way }) {
    await contender.choose(WAYS[way]);
    return { value: await costOfCall(contender, CALLS) };
  },
});

export const points =
  process.platform === "linux"
    ? [
        point("unobserved", "events that nobody listens to", ["asking", "asking-again", "not-asking"], {
          "not-asking": 0.98,
        }),
        point("observed", "a handler of all events", ["asking", "heard-by-caller", "heard-by-workers"], {}),
      ]
    : [];
