import kit from "instance-kit";
import { routine } from "wool-ts";
import { check } from "../check.mjs";

const shape = kit.make("abc");
const plain = kit.plain("x");

void check({
  instance: () => routine(() => [shape.area(), shape.title(), kit.isMade(shape)])(),
  "of a class": () => routine(() => [plain.title(), kit.isMade(plain), plain.constructor.mark])(),
  argument: () => routine((it) => [it.area(), kit.isMade(it)])(kit.make("abcd")),
  "argument of a class": () => routine((it) => [it.title(), kit.isMade(it)])(kit.plain("y")),
  result: async () => {
    const made = await routine(() => kit.make("abcde"))();
    return [made.area(), kit.isMade(made), Object.getPrototypeOf(made) === Object.getPrototypeOf(shape)];
  },
  "result of a class": async () => {
    const made = await routine(() => kit.plain("z"))();
    return [made.title(), kit.isMade(made), made.constructor === plain.constructor];
  },
  class: () => routine((cls) => [cls.mark, kit.isMade(new cls("n"))])(plain.constructor),
});
