// CPU work of a known size with a predictable result, so that a wrong answer shows.

const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;

/** Steps a linear congruential generator `steps` times from `seed`. */
export function burn(steps, seed) {
  let x = seed | 0;
  for (let i = 0; i < steps; i++) x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0;
  return x;
}

/** The result of `burn`, in time that grows with the logarithm of `steps`. */
export function burnResult(steps, seed) {
  let multiplier = 1;
  let increment = 0;
  let squareMultiplier = MULTIPLIER;
  let squareIncrement = INCREMENT;
  for (let rest = steps; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) {
      multiplier = Math.imul(multiplier, squareMultiplier);
      increment = (Math.imul(increment, squareMultiplier) + squareIncrement) | 0;
    }
    squareIncrement = (Math.imul(squareIncrement, squareMultiplier) + squareIncrement) | 0;
    squareMultiplier = Math.imul(squareMultiplier, squareMultiplier);
  }
  return (Math.imul(seed | 0, multiplier) + increment) | 0;
}

/** How many steps of `burn` take a millisecond on a free core of this machine. */
export function calibrateBurn() {
  const steps = 2_000_000;
  let fastest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 8; attempt++) {
    const began = performance.now();
    burn(steps, attempt);
    fastest = Math.min(fastest, performance.now() - began);
  }
  return Math.round(steps / fastest);
}
