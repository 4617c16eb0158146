import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const subpaths = Object.keys(packageJson.exports).filter((path) => path !== "./package.json");
const entries = subpaths.map((path) => (path === "." ? "index" : path.slice(2)));

interface Declarations {
  /** The kind of what is declared in the file, by its name there. */
  readonly declared: ReadonlyMap<string, string>;
  /** The names that the file exports, and what they are called inside. */
  readonly exported: ReadonlyMap<string, string>;
  /** What is imported from a file of the package, by the name that it has here: the file, and the name there. */
  readonly imported: ReadonlyMap<string, readonly [file: string, name: string]>;
  /** What the file imports from, in all. */
  readonly sources: readonly string[];
}

/** The names of a list such as `a as b, type c`, each with the name that it is given. */
function namesIn(list: string): [name: string, alias: string][] {
  return list.split(",").map((item) => {
    const [name = "", alias = name] = item
      .trim()
      .replace(/^type /, "")
      .split(" as ");
    return [name, alias];
  });
}

function declarationsOf(file: string): Declarations {
  const text = readFileSync(`${dist}${file}`, "utf8");
  const declared = new Map<string, string>();
  const exported = new Map<string, string>();
  const imported = new Map<string, readonly [string, string]>();
  const declarations = text.matchAll(/^(?:declare )?((?:abstract )?class|interface|type|const|function) (\w+)/gm);
  for (const [, kind = "", name = ""] of declarations) declared.set(name, kind);
  const lists = text.matchAll(/^(import|export) (?:type )?\{([^}]*)\}(?: from '\.\/([^']+)\.js')?;/gm);
  for (const [, word, list = "", source] of lists) {
    for (const [name, alias] of namesIn(list)) {
      if (source !== undefined) imported.set(alias, [`${source}.d.ts`, name]);
      if (word === "export") exported.set(alias, source === undefined ? name : alias);
    }
  }
  return {
    declared,
    exported,
    imported,
    sources: Array.from(text.matchAll(/(?:from|^import) '([^']+)'/gm), ([, specifier = ""]) => specifier),
  };
}

/** The kind of what a file exports under a name. */
function kindOf(file: string, name: string): string | undefined {
  const { declared, exported, imported } = declarationsOf(file);
  const local = exported.get(name) ?? "";
  const elsewhere = imported.get(local);
  return declared.get(local) ?? (elsewhere === undefined ? undefined : kindOf(...elsewhere));
}

/** What an entry exports, each with its kind. */
function surfaceOf(entry: string): ReadonlyMap<string, string | undefined> {
  const file = `${entry}.d.ts`;
  return new Map(Array.from(declarationsOf(file).exported.keys(), (name) => [name, kindOf(file, name)]));
}

/** Where a declaration is that a file exports, and its name there. */
function originOf(file: string, name: string): string {
  const { exported, imported } = declarationsOf(file);
  const local = exported.get(name) ?? "";
  const elsewhere = imported.get(local);
  return elsewhere === undefined ? `${file} ${local}` : originOf(...elsewhere);
}

function isDeclarationFile(file: string): boolean {
  return file.endsWith(".d.ts");
}

function isValue(kind: string | undefined): boolean {
  return kind !== "interface" && kind !== "type";
}

describe.each(entries)("the declarations of %s", (entry) => {
  const surface = surfaceOf(entry);

  it("export these names", async () => {
    const lines = Array.from(surface, ([name, kind]) => `${name}: ${kind}`).sort();
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`surface/${entry}.txt`);
  });

  it("are the same for CommonJS", () => {
    const [modules, commonjs] = ["ts", "cts"].map((extension) =>
      readFileSync(`${dist}${entry}.d.${extension}`, "utf8"),
    );
    expect(commonjs).toBe(modules?.replace(/(from '\.\/(?:wool-[^']*|index))\.js'/g, "$1.cjs'"));
  });

  it("have a value for each class, constant and function, and no others", async () => {
    const module: object = await import(`${dist}${entry}.js`);
    const values = Array.from(surface).flatMap(([name, kind]) => (isValue(kind) ? [name] : []));
    expect(Object.keys(module).sort()).toEqual(values.sort());
  });
});

describe("all declarations", () => {
  const files = readdirSync(dist).filter(isDeclarationFile);

  it("are of types that an entry exports", () => {
    const exported = new Set(
      entries.flatMap((entry) => Array.from(surfaceOf(entry).keys(), (name) => originOf(`${entry}.d.ts`, name))),
    );
    const all = files.flatMap((file) => Array.from(declarationsOf(file).declared.keys(), (name) => `${file} ${name}`));
    expect(all.length).toBeGreaterThan(100);
    expect(all.filter((place) => !exported.has(place))).toEqual([]);
  });

  it("need nothing but Node.js", () => {
    const sources = files.flatMap((file) => declarationsOf(file).sources);
    expect(sources.filter((specifier) => !/^(?:node:|\.\/wool-|\.\/index\.js$)/.test(specifier))).toEqual([]);
  });
});

it("no other declarations are in the package", () => {
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => /\.d\.c?ts$/.test(file));
  const expected = entries.flatMap((entry) => [`${entry}.d.cts`, `${entry}.d.ts`]);
  expect(files.filter((file) => !/^wool-[^/]+\.d\.c?ts$/.test(file)).sort()).toEqual(expected.sort());
});
