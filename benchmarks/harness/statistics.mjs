/** The middle of a list of numbers; between the two middle ones when it is even. */
export function median(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Half the distance between the extremes, as a part of the median: how far the rounds lie apart. */
export function spread(numbers) {
  const middle = median(numbers);
  return middle === 0 ? 0 : (Math.max(...numbers) - Math.min(...numbers)) / 2 / middle;
}
