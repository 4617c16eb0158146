import { IsPositive, Length } from "class-validator";

/** What a compiler makes of a class with decorators. */
export class Account {
  constructor(owner, balance) {
    this.owner = owner;
    this.balance = balance;
  }
}
Length(2, 20)(Account.prototype, "owner");
IsPositive()(Account.prototype, "balance");
