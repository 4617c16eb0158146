import { routine } from "wool-ts";
import { ZodError, z } from "zod";
import { check, reasonOf } from "../check.mjs";

const schema = z.object({ id: z.number().int(), name: z.string().min(2), tags: z.array(z.string()).default([]) });
const parse = routine((it, input) => it.safeParse(input).success);
const make = routine(() => z.union([z.string().email(), z.literal(7)]));
const fail = routine(() => schema.parse({ id: "x" }));
const failed = routine(() => schema.safeParse({ id: "x", name: "y" }).error);

void check({
  binding: () => routine(() => z.string().uuid().safeParse("no").success)(),
  instance: () => routine((input) => schema.parse(input))({ id: 1, name: "ada" }),
  argument: async () => [await parse(schema, { id: 1, name: "ada" }), await parse(schema, { id: 1, name: "a" })],
  result: async () => {
    const made = await make();
    return [made instanceof z.ZodType, made.safeParse(7).success, made.safeParse("x").success];
  },
  thrown: async () => {
    const error = await reasonOf(fail());
    return [error instanceof ZodError, error instanceof z.ZodError, error.name, error.issues, error.message];
  },
  "error in a result": async () => {
    const error = await failed();
    return [error instanceof ZodError, error.issues, z.flattenError(error)];
  },
});
