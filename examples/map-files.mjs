// Many items, a bounded number of them at once: the longest lines of the files in this folder.
// Prints a line for each file, such as:
//   quick-start.mjs: 20 lines, the longest has 83 characters
// and, last, how many files there were.
import { readdir, readFile } from "node:fs/promises";
import { routine, WorkerPool } from "wool-ts";

// `readFile` is imported here, and available on the worker too.
const measure = routine(async (path) => {
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  return { path, lines: lines.length, longest: Math.max(...lines.map((line) => line.length)) };
});

const folder = new URL(".", import.meta.url);
const names = (await readdir(folder)).filter((name) => name.endsWith(".mjs"));

const pool = await WorkerPool.start({ size: 2 });
try {
  let files = 0;
  const paths = names.map((name) => new URL(name, folder));
  for await (const { path, lines, longest } of pool.map(measure, paths, { concurrency: 4 })) {
    files++;
    console.log(`${path.pathname.split("/").pop()}: ${lines} lines, the longest has ${longest} characters`);
  }
  console.log(`${files} files`);
} finally {
  await pool.stop();
}
