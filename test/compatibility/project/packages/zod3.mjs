import { routine } from "wool-ts";
import { ZodError, z } from "zod3";
import { check, reasonOf } from "../check.mjs";

const schema = z.object({ id: z.number().int(), name: z.string().min(2), tags: z.array(z.string()).default([]) });
const address = z.object({ street: z.string(), city: z.string(), zip: z.string().regex(/^\d+$/).optional() });
const order = z.object({
  id: z.number().int(),
  customer: z.object({ name: z.string().min(2), mail: z.string().email(), address, billing: address.nullable() }),
  lines: z.array(z.object({ sku: z.string(), count: z.number().positive(), price: z.number().default(3) })),
  state: z.enum(["open", "paid"]),
  kind: z.union([z.literal("gift"), z.literal("sale"), z.undefined()]),
  flags: z.record(z.boolean()),
  size: z.tuple([z.number(), z.number()]).transform(([x, y]) => x * y),
  note: z.string().refine((text) => text.length > 1),
});
const filled = {
  id: 1,
  customer: { name: "ada", mail: "ada@example.org", address: { street: "s", city: "c", zip: "1" }, billing: null },
  lines: [{ sku: "a", count: 2 }],
  state: "open",
  flags: { quick: true },
  size: [2, 3],
  note: "none",
};
const parse = routine((it, input) => it.safeParse(input).success);
const make = routine(() => z.union([z.string().email(), z.literal(7)]));
const fail = routine(() => schema.parse({ id: "x" }));
const failed = routine(() => schema.safeParse({ id: "x", name: "y" }).error);

void check({
  binding: () => routine(() => z.string().uuid().safeParse("no").success)(),
  instance: () => routine((input) => schema.parse(input))({ id: 1, name: "ada" }),
  "large instance": () => routine((input) => order.parse(input))(filled),
  argument: async () => [await parse(schema, { id: 1, name: "ada" }), await parse(schema, { id: 1, name: "a" })],
  result: async () => {
    const made = await make();
    return [made instanceof z.ZodType, made.safeParse(7).success, made.safeParse("x").success];
  },
  thrown: async () => {
    const error = await reasonOf(fail());
    return [error instanceof ZodError, error.name, error.issues, error.message];
  },
  "error in a result": async () => {
    const error = await failed();
    return [error instanceof ZodError, error.issues, error.flatten()];
  },
});
