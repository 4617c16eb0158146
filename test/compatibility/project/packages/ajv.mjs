import { Ajv } from "ajv";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const ajv = new Ajv();
const definition = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
const validate = ajv.compile(definition);

void check({
  binding: () => routine((data) => new Ajv().compile(definition)(data))({ id: 1 }),
  instance: () => routine((data) => ajv.validate(definition, data))({ id: "x" }),
  "compiled function": () => routine((data) => [validate(data), validate.errors?.[0]?.message])({ id: "x" }),
  argument: () => routine((it) => [it({ id: 1 }), it({})])(validate),
  result: async () => (await routine(() => new Ajv().compile(definition))())({ id: 2 }),
  thrown: async () => {
    const error = await reasonOf(routine(() => new Ajv().compile({ type: "nothing" }))());
    return [error instanceof Error, error.message];
  },
  "validation error": async () => {
    const fail = routine(() => {
      throw new Ajv.ValidationError([{ message: "bad" }]);
    });
    const error = await reasonOf(fail());
    return [error instanceof Ajv.ValidationError, error.errors, error.validation];
  },
});
