import { messageOf } from "../../../checks/index.ts";
import { CodeUnavailable } from "../../../errors.ts";
import { type AnyFunction, givesGenerator, isFunction } from "../../../functions/index.ts";
import { routineSpecOf } from "../../../routine/index.ts";
import { ENCODINGS, LANGUAGES } from "../../../wire/index.ts";
import { importModule, preloadSpecifier } from "../../shared/index.ts";

/** Why this worker cannot run a route with this target and value encoding; undefined if it can. */
export function targetRefusal(target: string, encoding: string): string | undefined {
  const [language = ""] = target.split(":", 1);
  if (target !== "" && !LANGUAGES.includes(language)) {
    return `this worker runs functions of ${LANGUAGES.join(", ")}, and ${JSON.stringify(target)} is not one of them`;
  }
  if (encoding !== "" && !ENCODINGS.includes(encoding)) {
    return `this worker understands values encoded as ${ENCODINGS.join(" or ")}, not as ${JSON.stringify(encoding)}`;
  }
  return undefined;
}

/**
 * The function that a target names: `node:MODULE#EXPORT`. MODULE is a path from the working directory, a URL or a
 * package. Without EXPORT it is the default export. For a routine it is the function of the routine. Rejects with
 * `CodeUnavailable`.
 */
export async function targetFunction(target: string, streams: boolean): Promise<AnyFunction> {
  const named = target.slice(target.indexOf(":") + 1);
  const [specifier = "", name = "default"] = named.split("#", 2);
  let module: object;
  try {
    module = await importModule(preloadSpecifier(specifier));
  } catch (cause) {
    const reason = messageOf(cause);
    throw new CodeUnavailable(`the worker cannot load ${target}: ${reason}`, { cause });
  }
  const found: unknown = Object.entries(module).find(([key]) => key === name)?.[1];
  const fn = routineSpecOf(found)?.fn ?? found;
  if (!isFunction(fn)) {
    const exported = Object.keys(module).join(", ") || "nothing";
    throw new CodeUnavailable(
      `${target}: the module exports no function ${JSON.stringify(name)}, it exports ${exported}`,
    );
  }
  if (givesGenerator(fn) === streams) return fn;
  throw new CodeUnavailable(
    streams
      ? `${target} is called as a generator, but it is a function: leave out the option streams`
      : `${target} is called as a function, but it is a generator: give the option streams: true`,
  );
}
