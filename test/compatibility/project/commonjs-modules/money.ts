export default class Money {
  readonly amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
  plus(other: Money): Money {
    return new Money(this.amount + other.amount);
  }
}

export class NoMoney extends Error {}
export * as taxes from "./tax";
export { setFood as setFoodRate } from "./tax";
