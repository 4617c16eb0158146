/** Collects the live values of a shipment and what to call them in the path of an error. */
export class PartsList {
  readonly values: unknown[] = [];
  readonly labels: string[] = [];

  /** Adds a value and returns its place. */
  add(value: unknown, label: string): number {
    this.values.push(value);
    this.labels.push(label);
    return this.values.length - 1;
  }
}
