import { routine } from "wool-ts";
import * as yup from "yup";
import { check, reasonOf } from "../check.mjs";

const schema = yup.object({ id: yup.number().integer().required(), name: yup.string().min(2) });

void check({
  binding: () => routine(() => yup.string().email().isValid("no"))(),
  instance: () => routine((input) => schema.validate(input))({ id: 1, name: "ada" }),
  argument: () => routine((it) => it.isValid({ name: "ada" }))(schema),
  result: async () => {
    const made = await routine(() => yup.string().min(3))();
    return [yup.isSchema(made), made instanceof yup.StringSchema, made.isValidSync("ab"), made.isValidSync("abc")];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => schema.validate({ id: "x" }))());
    return [error instanceof yup.ValidationError, yup.ValidationError.isError(error), error.path, error.errors];
  },
});
