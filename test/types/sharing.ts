import { routine, type Shared, share } from "wool-ts";
import { type Equal, type Expect, expectType, type IsAny } from "./expect-type.ts";

// A handle has the type of its value, also in routines that take or capture it.
const table = share({ rows: new Map<string, number>(), weights: [0.5] });
expectType<Shared<{ rows: Map<string, number>; weights: number[] }>>()(table);
const read = routine(async (handle: typeof table, key: string) => handle.value.rows.get(key));
expectType<Promise<number | undefined>>()(read(table, "a"));
const captured = routine(async () => table.value.weights);
expectType<Promise<number[]>>()(captured());
export type ValueIsTyped = Expect<Equal<IsAny<(typeof table)["value"]>, false>>;
// @ts-expect-error -- a value is no handle
void read({ rows: new Map(), weights: [0.5] }, "a");
// @ts-expect-error -- a handle is not to be changed
table.value = { rows: new Map(), weights: [0.5] };
// It is a resource.
table[Symbol.dispose]();
const wider: Shared<unknown> = table;
void wider;
