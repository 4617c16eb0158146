import createError from "http-errors";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

class Missing extends createError.NotFound {
  constructor(item) {
    super(`no ${item}`);
    this.item = item;
  }
}

void check({
  argument: () =>
    routine((it) => [it instanceof createError.HttpError, it.status, it.message])(createError(404, "none")),
  thrown: async () => {
    const error = await reasonOf(
      routine(() => {
        throw createError(404, "none", { id: 3 });
      })(),
    );
    return [
      error instanceof createError.NotFound,
      createError.isHttpError(error),
      error.status,
      error.expose,
      error.id,
    ];
  },
  extended: async () => {
    const error = await reasonOf(
      routine(() => {
        throw new Missing("salt");
      })(),
    );
    return [error instanceof Missing, error instanceof createError.HttpError, error.item, error.statusCode];
  },
});
