/** Lines of a worker begin with its name in brackets. */
const WORKER_LINE = /^\[(w-[0-9a-f]+)\] ?(.*)$/;
const MOST_LINES = 14;

/** What worker processes wrote before Node.js ended them because of an uncaught error. */
export function findCrashes(output) {
  const written = new Map();
  const crashes = [];
  for (const line of output.split("\n")) {
    const [, worker, text] = WORKER_LINE.exec(line) ?? [];
    if (worker === undefined) continue;
    const lines = written.get(worker) ?? [];
    written.set(worker, lines);
    lines.push(text);
    if (/^Node\.js v\d/.test(text)) crashes.push(`${worker}:\n${lines.splice(0).slice(-MOST_LINES).join("\n")}`);
  }
  return crashes;
}

/** The last lines that do not come from workers. */
export function lastWords(output) {
  const own = output.split("\n").filter((line) => line !== "" && !WORKER_LINE.test(line));
  return own.slice(-MOST_LINES).join("\n");
}
