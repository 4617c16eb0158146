// As TypeScript compiles it for targets without private fields.
var __classPrivateFieldGet = (receiver, state) => {
  if (!state.has(receiver))
    throw new TypeError("Cannot read private member from an object whose class did not declare it");
  return state.get(receiver);
};
const _Account_balance = new WeakMap();

class Account {
  constructor(balance) {
    _Account_balance.set(this, balance);
  }

  get balance() {
    return __classPrivateFieldGet(this, _Account_balance);
  }
}

exports.Account = Account;
