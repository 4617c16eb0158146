/**
 * For tasks: keeps the thread busy for two milliseconds. Tasks that take next to no time need not be spread over workers;
 * those that take longer go to whoever is free.
 */
export function takeAWhile(): void {
  const end = performance.now() + 2;
  while (performance.now() < end);
}
