import { type ExplainedPart, type Explanation, type Refusal, routine, shipping } from "wool-ts";
import { expectType } from "./expect-type.ts";

const explained = shipping.explain(routine(async (n: number) => n));
expectType<Explanation>()(explained);
expectType<readonly ExplainedPart[]>()(explained.parts);
expectType<number | undefined>()(explained.bytes);
expectType<Refusal | undefined>()(explained.parts[0]?.refusal);
expectType<Explanation>()(shipping.explain(class {}, { holder: {} }));

// @ts-expect-error a value that is no object has nothing to explain
shipping.explain(1);
// @ts-expect-error there is no such option
shipping.explain(() => 1, { self: {} });
