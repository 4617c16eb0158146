/** Data that others change, and a service that holds some. */
export const limits = { most: 1 };
export let reading = 0;

export function change(most: number): void {
  limits.most = most;
  reading = most + 1;
}

class Service {
  count = 0;
  next(): number {
    this.count += 1;
    return this.count;
  }
}

export const service = new Service();

export default { unit: "m" };
