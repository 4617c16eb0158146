import { IsInt, MinLength, ValidationError, validateSync } from "class-validator";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";
import { Account } from "../decorated.mjs";

class User {
  constructor(id, name) {
    this.id = id;
    this.name = name;
  }
}
IsInt()(User.prototype, "id");
MinLength(2)(User.prototype, "name");

const user = new User(1.5, "a");
const summary = (errors) => errors.map(({ property, constraints }) => [property, constraints]);

void check({
  binding: () => routine((it) => summary(validateSync(it)))(new Account("x", 0)),
  "in its own module": () => routine(() => summary(validateSync(new Account("x", 0))))(),
  instance: () => routine(() => summary(validateSync(new Account(user.name, user.id))))(),
  argument: () => routine((it) => [it instanceof Account, validateSync(it).length])(new Account("", -1)),
  result: async () => {
    const [error] = await routine(() => validateSync(new Account("x", 0)))();
    return [error instanceof ValidationError, error.property, error.constraints];
  },
  thrown: async () => {
    const fail = routine(() => {
      throw validateSync(new Account("x", 0));
    });
    const [error] = await reasonOf(fail());
    return [error instanceof ValidationError, String(error)];
  },
});
