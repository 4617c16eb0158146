class NotMoney extends TypeError {}

class Money {
  constructor(amount) {
    this.amount = amount;
  }
}

function add(a, b) {
  for (const value of [a, b]) if (!(value instanceof Money)) throw new NotMoney(`${value} is not money`);
  return new Money(a.amount + b.amount);
}

exports.add = add;
exports.Money = Money;
exports.NotMoney = NotMoney;
