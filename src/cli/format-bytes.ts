const UNITS = ["kB", "MB", "GB", "TB"];

/** A number of bytes for people: `12 B`, `3.4 kB`, `120 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let amount = bytes;
  let unit = "B";
  for (const next of UNITS) {
    // What would be shown as 1000 is one of the next unit.
    if (amount < 999.5) break;
    amount /= 1000;
    unit = next;
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}
