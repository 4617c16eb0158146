import { test } from "vitest";
import { join } from "node:path";
import * as path from "node:path";
import { parse } from "acorn";
import fs from "node:fs";
import { positionOf } from "./source-file.ts";
import * as sf from "./source-file.ts";
import { scriptOf } from "./scripts.ts";
import { viewFunction } from "./inspector-session.ts";
test("x", async () => {
  const f = () => [join("a"), path.sep, parse, fs.existsSync, positionOf, sf.offsetOf, import.meta.url, import("node:os")];
  const v = viewFunction(f);
  const s = scriptOf(v.location?.scriptId ?? "");
  console.log(s?.url, s?.isModule, s?.startLine, s?.startColumn, s?.sourceMapUrl.slice(0, 80));
  console.log(s?.source?.slice(0, 3000));
  console.log(v.scopes.map((x) => [x.description, Object.keys(x.variables)]), v.location);
});
