import { createRequire } from "node:module";
import { asks as asksByPath } from "@shared/rates";
import { validateSync } from "class-validator";
import { routine, WorkerPool } from "wool-ts";
import { Level, raise } from "./level.js";
import { load } from "./near.mjs";
import { levels, Shapes } from "./spaces.js";
import { User } from "./user.js";

const require = createRequire(import.meta.url);
const raiseIt = routine((level: Level) => raise(level));
const raiseByNamespace = routine(() => levels.raise(levels.Level.Low));
const draw = routine(() => Shapes.draw());
const loadTwice = routine(async () => {
  const near = await import("./near.mjs");
  return [near.load(), load()];
});
const path = routine(async () => {
  const { rate, asks } = await import("@shared/rates");
  return [rate("km"), asks(), asksByPath()];
});
const legacy = routine(() => {
  const { use } = require("./legacy.cts") as { use: () => number };
  return use();
});
const errorsOf = (user: User): unknown[] => validateSync(user).map(({ constraints }) => constraints);
const validate = routine((id: number, name: string) => errorsOf(new User(id, name)));
const validatePassed = routine((user: User) => errorsOf(user));

const pool = await WorkerPool.start({ size: 1 });
try {
  const outcome = {
    raise: [await raiseIt(Level.High), await raiseIt(Level.Low)],
    namespace: await raiseByNamespace(),
    draw: [await draw(), await draw()],
    near: [await loadTwice(), await loadTwice()],
    path: await path(),
    legacy: [await legacy(), await legacy()],
    validate: [await validate(1, "ada"), await validate(1.5, "a")],
    passed: await validatePassed(new User(1.5, "ada")),
  };
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
} finally {
  await pool.stop();
}
