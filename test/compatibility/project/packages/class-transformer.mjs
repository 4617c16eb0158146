import "reflect-metadata";
import { instanceToPlain, plainToInstance } from "class-transformer";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

class User {
  greet() {
    return `I am ${this.name}`;
  }
}

void check({
  binding: () => routine(() => plainToInstance(User, { name: "ada" }).greet())(),
  instance: () => routine((users) => plainToInstance(User, users).map((user) => user.greet()))([{ name: "ada" }]),
  argument: () => routine((it) => instanceToPlain(it))(plainToInstance(User, { name: "ada" })),
  result: async () => {
    const made = await routine(() => plainToInstance(User, { name: "ada" }))();
    return [made instanceof User, made.greet()];
  },
  thrown: async () => {
    const fail = routine(() => {
      throw plainToInstance(User, { name: "ada" });
    });
    return (await reasonOf(fail())).greet();
  },
});
