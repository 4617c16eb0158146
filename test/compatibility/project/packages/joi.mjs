import Joi from "joi";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const schema = Joi.object({ id: Joi.number().integer().required(), name: Joi.string().min(2) });

void check({
  binding: () => routine(() => Joi.attempt("5", Joi.number()))(),
  instance: () => routine((input) => schema.validate(input).error?.message)({ id: 1.5, name: "ada" }),
  argument: () => routine((it) => it.validate({ id: 1 }).value)(schema),
  result: async () => {
    const made = await routine(() => Joi.string().min(3))();
    return [Joi.isSchema(made), made.validate("ab").error.message];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => Joi.assert({ id: "x" }, schema))());
    return [error instanceof Joi.ValidationError, error.name, error.message, error.details[0].path];
  },
});
