import { IsInt, validateSync } from "class-validator";
import { routine, WorkerPool } from "wool-ts";

class User {
  @IsInt()
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }
}

const validate = routine((id: number) => validateSync(new User(id)).length);
const validatePassed = routine((user: User) => validateSync(user).length);

const pool = await WorkerPool.start({ size: 1 });
try {
  const outcomes = await Promise.allSettled([validate(1.5), validatePassed(new User(1.5))]);
  const texts = outcomes.map((outcome) => (outcome.status === "rejected" ? String(outcome.reason) : outcome.value));
  process.stdout.write(`${JSON.stringify(texts)}\n`);
} finally {
  await pool.stop();
}
