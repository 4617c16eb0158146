// A generator that runs on a worker: values come when they are asked for, and answers can be sent back.
// Prints:
//   primes: 2 3 5 7 11
//   guesses: 50 75 62
//   found 62 in 3 guesses
//   100000 items, the worker up to 64 ahead
import { routine, WorkerPool } from "wool-ts";

const primes = routine(async function* () {
  for (let n = 2; ; n++) {
    let divisor = 2;
    while (divisor * divisor <= n && n % divisor !== 0) divisor++;
    if (divisor * divisor > n) yield n;
  }
});

const guessNumber = routine(async function* (low, high) {
  for (let guesses = 1; ; guesses++) {
    const guess = (low + high) >> 1;
    const answer = yield guess;
    if (answer === "right") return `found ${guess} in ${guesses} guesses`;
    if (answer === "more") low = guess + 1;
    else high = guess - 1;
  }
});

const count = routine(async function* (items) {
  for (let i = 0; i < items; i++) yield i;
});

const pool = await WorkerPool.start({ size: 2 });
try {
  // The generator is endless. `break` ends it on the worker: it computed only these five.
  const found = [];
  for await (const prime of primes()) {
    found.push(prime);
    if (found.length === 5) break;
  }
  console.log("primes:", ...found);

  const secret = 62;
  const guesses = [];
  const game = guessNumber(1, 100);
  let step = await game.next();
  while (!step.done) {
    guesses.push(step.value);
    step = await game.next(step.value === secret ? "right" : step.value < secret ? "more" : "less");
  }
  console.log("guesses:", ...guesses);
  console.log(step.value);

  let items = 0;
  for await (const _ of count.with({ prefetch: 64 })(100_000)) items++;
  console.log(`${items} items, the worker up to 64 ahead`);
} finally {
  await pool.stop();
}
