import semver, { Range, SemVer } from "semver";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const version = new SemVer("1.2.3");
const range = new Range("^1.2");

void check({
  binding: () => routine(() => semver.satisfies("1.2.3", "^1.0.0"))(),
  instance: () => routine(() => [version.minor, range.test("1.4.0")])(),
  argument: () => routine((it) => [it instanceof SemVer, it.compare("2.0.0")])(version),
  result: async () => {
    const made = await routine(() => semver.parse("3.2.1"))();
    return [made instanceof SemVer, made.inc("minor").version];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new SemVer("x"))());
    return [error instanceof TypeError, error.message];
  },
});
