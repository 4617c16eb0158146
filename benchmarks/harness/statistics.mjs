/** The middle of a list of numbers; between the two middle ones when it is even. */
export function median(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Half the distance between the extremes, as a part of the median: how much the rounds differ. */
export function spread(numbers) {
  const middle = median(numbers);
  return middle === 0 ? 0 : (Math.max(...numbers) - Math.min(...numbers)) / 2 / middle;
}

/**
 * The ratio of `figures` to `others`, which were measured in pairs: `ratio`, and its interval of 95 % confidence. By
 * the ranks of the pairs (Hodges and Lehmann), so that a few disturbed pairs count little.
 */
export function pairedRatio(figures, others) {
  const logs = figures.map((figure, i) => Math.log(figure / others[i]));
  const count = logs.length;
  const means = new Float64Array((count * (count + 1)) / 2);
  let at = 0;
  for (let i = 0; i < count; i++) for (let j = i; j < count; j++) means[at++] = (logs[i] + logs[j]) / 2;
  means.sort();
  const deviation = Math.sqrt((count * (count + 1) * (2 * count + 1)) / 24);
  const outside = Math.max(0, Math.floor(means.length / 2 - 1.96 * deviation));
  return {
    ratio: Math.exp(median(means)),
    interval: [Math.exp(means[outside]), Math.exp(means[means.length - 1 - outside])],
  };
}

/** All orders of a list. */
export function permutations(list) {
  if (list.length < 2) return [list];
  return list.flatMap((first) => permutations(list.filter((each) => each !== first)).map((rest) => [first, ...rest]));
}
