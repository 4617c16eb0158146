import validator from "validator";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const rules = { email: validator.isEmail, id: [validator.isUUID, 4] };

void check({
  binding: () => routine(() => [validator.isEmail("a@b.example"), validator.escape("<a>")])(),
  instance: () => routine(() => [rules.email("x"), rules.id[0]("7", rules.id[1])])(),
  argument: () => routine((it) => it("https://example.com", { protocols: ["https"] }))(validator.isURL),
  result: async () => (await routine(() => validator.isInt)()) === validator.isInt,
  thrown: async () => {
    const error = await reasonOf(routine(() => validator.isEmail(5))());
    return [error instanceof TypeError, error.message];
  },
});
