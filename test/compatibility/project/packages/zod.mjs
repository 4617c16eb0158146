import { routine } from "wool-ts";
import { ZodError, z } from "zod";
import { check, reasonOf } from "../check.mjs";

const schema = z.object({ id: z.number().int(), name: z.string().min(2), tags: z.array(z.string()).default([]) });
const parse = routine((it, input) => it.safeParse(input).success);
const make = routine(() => z.union([z.string().email(), z.literal(7)]));
const fail = routine(() => schema.parse({ id: "x" }));
const own = z.number().superRefine((n, context) => {
  if (n > 3) context.addIssue({ code: "custom", message: "too many" });
});
const map = z.instanceof(Map).and(z.custom((value) => value.size < 2));
const issues = routine((it, input) => it.safeParse(input).error?.issues);
const failed = routine(() => schema.safeParse({ id: "x", name: "y" }).error);

void check({
  binding: () => routine(() => z.string().uuid().safeParse("no").success)(),
  instance: () => routine((input) => schema.parse(input))({ id: 1, name: "ada" }),
  argument: async () => [await parse(schema, { id: 1, name: "ada" }), await parse(schema, { id: 1, name: "a" })],
  result: async () => {
    const made = await make();
    return [made instanceof z.ZodType, made.safeParse(7).success, made.safeParse("x").success];
  },
  "own checks": async () => [
    await issues(own, 4),
    await issues(own, 3),
    await issues(map, {}),
    await issues(map, new Map()),
  ],
  "own checks captured": () => routine(() => [own.safeParse(4).error.issues, map.safeParse([]).error.issues])(),
  "own checks in a result": async () => {
    const made = await routine(() => z.array(own))();
    return [made.safeParse([4]).error.issues, made.safeParse([3]).success];
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
