import { Data, Effect, Exit, Option, Schema } from "effect";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

class NotFound extends Data.TaggedError("NotFound") {}

const User = Schema.Struct({ id: Schema.Number, name: Schema.String });
const program = Effect.map(Effect.succeed(2), (n) => n * 21);

void check({
  binding: () => routine(() => Effect.runPromise(Effect.succeed(1)))(),
  instance: () => routine(() => Effect.runPromise(program))(),
  schema: () => routine((input) => Schema.decodeUnknownSync(User)(input))({ id: 1, name: "ada" }),
  argument: () => routine((it) => [Option.isSome(it), Option.getOrElse(it, () => 0)])(Option.some(5)),
  result: async () => {
    const made = await routine(() => Option.some(5))();
    return [Option.isOption(made), Option.isSome(made), made.value];
  },
  exit: async () => Exit.isFailure(await routine(() => Effect.runSyncExit(Effect.fail("no")))()),
  thrown: async () => {
    const fail = routine(() => {
      throw new NotFound({ id: 5 });
    });
    const error = await reasonOf(fail());
    return [error instanceof NotFound, error._tag, error.id];
  },
});
