let asked = 0;

export default function tax(amount: number): number {
  asked += 1;
  return amount / 4 + asked;
}

export const rates = { food: 12 };
export function setFood(rate: number): void {
  rates.food = rate;
}
export let currency = "SEK";
export function setCurrency(name: string): void {
  currency = name;
}
