/** Samples at the beginning that do not count: code is compiled, and caches and buffers reach their size. */
const WARM_UP_SHARE = 0.25;

/**
 * How much a series of samples, taken at even intervals, grew from the end of the warm-up to its end. The median of the
 * slopes between all pairs, so that an outlier does not change it.
 */
export function growthOf(samples) {
  const counted = samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  if (counted.length < 3) throw new RangeError(`${samples.length} samples are too few to see a trend`);
  const slopes = [];
  for (let i = 0; i < counted.length; i++) {
    for (let j = i + 1; j < counted.length; j++) slopes.push((counted[j] - counted[i]) / (j - i));
  }
  slopes.sort((a, b) => a - b);
  return slopes[slopes.length >> 1] * (counted.length - 1);
}

/** Growth above its bound for each series: `{ name, growth, bound }`. `series` and `bounds` have the same keys. */
export function findGrowth(series, bounds) {
  return Object.entries(series)
    .map(([name, samples]) => ({ name, growth: growthOf(samples), bound: boundFor(name, bounds) }))
    .filter(({ growth, bound }) => growth > bound);
}

/** The bounds by kind: the last word of a name. */
export function boundFor(name, bounds) {
  const bound = bounds[name.split(" ").at(-1)];
  if (bound === undefined) throw new RangeError(`there is no bound for ${name}`);
  return bound;
}
