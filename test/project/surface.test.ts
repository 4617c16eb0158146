import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const subpaths = Object.keys(packageJson.exports).filter((path) => path !== "./package.json");
const entries = subpaths.map((path) => (path === "." ? "index" : path.slice(2)));

interface Surface {
  /** What is declared in the file, by name. */
  readonly declared: ReadonlyMap<string, string>;
  readonly exported: ReadonlySet<string>;
  /** What it imports from. */
  readonly imports: readonly string[];
}

function surfaceOf(entry: string): Surface {
  const text = readFileSync(`${dist}${entry}.d.ts`, "utf8");
  const declarations = text.matchAll(/^(?:declare )?((?:abstract )?class|interface|type|const|function) (\w+)/gm);
  const lists = text.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return {
    declared: new Map(Array.from(declarations, ([, kind = "", name = ""]) => [name, kind])),
    exported: new Set(Array.from(lists, ([, names = ""]) => names.split(",").map((name) => name.trim())).flat()),
    imports: Array.from(text.matchAll(/from ['"]([^'"]+)['"]/g), ([, specifier = ""]) => specifier),
  };
}

function isValue(kind: string): boolean {
  return kind !== "interface" && kind !== "type";
}

describe.each(entries)("the declarations of %s", (entry) => {
  const { declared, exported, imports } = surfaceOf(entry);

  it("export these names", async () => {
    const lines = Array.from(declared, ([name, kind]) => `${name}: ${kind}`).sort();
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`surface/${entry}.txt`);
  });

  it("export every type that they mention", () => {
    expect([...declared.keys()].filter((name) => !exported.has(name))).toEqual([]);
  });

  it("need nothing but Node.js", () => {
    expect(imports.filter((specifier) => !/^(?:node:|\.\/wool-)/.test(specifier))).toEqual([]);
  });

  it("are the same for CommonJS", () => {
    const [modules, commonjs] = ["ts", "cts"].map((extension) =>
      readFileSync(`${dist}${entry}.d.${extension}`, "utf8"),
    );
    expect(commonjs).toBe(modules?.replace(/(from '\.\/wool-[^']*)\.js'/g, "$1.cjs'"));
  });

  it("have a value for each class, constant and function, and no others", async () => {
    const module: object = await import(`${dist}${entry}.js`);
    const values = Array.from(declared).flatMap(([name, kind]) => (isValue(kind) ? [name] : []));
    expect(Object.keys(module).sort()).toEqual(values.sort());
  });
});

it("no other declarations are in the package", () => {
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => /\.d\.c?ts$/.test(file));
  const expected = entries.flatMap((entry) => [`${entry}.d.cts`, `${entry}.d.ts`]);
  expect(files.filter((file) => !/^wool-[^/]+\.d\.c?ts$/.test(file)).sort()).toEqual(expected.sort());
});
