// A contender's own process: answers the commands of the runner one by one.
import { findPoint } from "./catalogue.mjs";

const [pointName, contenderName] = process.argv.slice(2);
const point = findPoint(pointName);
const { open } = await import(`../contenders/${contenderName}.mjs`);
let contender;

const commands = {
  async open() {
    contender = await open(point.contenderOptions);
  },
  warmUp: (settings) => point.warmUp?.(contender, settings),
  measure: (settings) => point.measure(contender, settings),
  measureFresh: (settings) => point.measureFresh(open, settings),
  close: () => contender?.close(),
};

async function answer({ command, settings }) {
  try {
    process.send({ result: await commands[command](settings) });
  } catch (error) {
    process.send({ failure: error instanceof Error ? error.stack : String(error) });
  }
}

process.on("message", (message) => void answer(message));
process.once("disconnect", () => process.exit());
process.send({ result: "ready" });
