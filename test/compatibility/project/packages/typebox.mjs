import { Kind, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { TransformDecodeCheckError, Value } from "@sinclair/typebox/value";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const schema = Type.Object({ id: Type.Integer(), name: Type.Optional(Type.String({ minLength: 2 })) });
const compiled = TypeCompiler.Compile(schema);
const date = Type.Transform(Type.String())
  .Decode((value) => new Date(value))
  .Encode((value) => value.toISOString());

void check({
  binding: () => routine(() => Value.Check(Type.String(), "a"))(),
  instance: () =>
    routine((input) => [
      Value.Check(schema, input),
      schema[Kind],
      [...Value.Errors(schema, input)].map(({ message }) => message),
    ])({ id: 1.5 }),
  transform: () => routine(() => Value.Decode(date, "2020-01-01T00:00:00.000Z").getTime())(),
  compiled: () => routine((input) => compiled.Check(input))({ id: 1 }),
  argument: () => routine((it) => Value.Check(it, { id: 1 }))(schema),
  "compiled argument": () => routine((it) => it.Check({ id: "x" }))(compiled),
  result: async () => {
    const made = await routine(() => Type.Object({ a: Type.Number() }))();
    return [Value.Check(made, { a: 1 }), Value.Check(made, {}), made[Kind]];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => Value.Decode(date, 5))());
    return [error instanceof TransformDecodeCheckError, error.message];
  },
});
