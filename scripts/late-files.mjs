// The parts of the runtime that a task thread loads at their first use. In sources they are imported like everything else.
// The build puts each part into a file, and toCommonJs (to-commonjs.mjs) makes functions of its imports that load it when they
// are called. In ES modules those imports stay what they are.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/** The name of the file of each part, and the sources in it that others import. */
const PARTS = {
  // Taking functions apart. Putting them together, which every task needs, is not in it.
  "late-capture": [
    /^src\/functions\/(?:capture|syntax|variables)\//,
    /^src\/functions\/emit\/(?!slot-code)/,
    /^src\/functions\/engine\/(?!variable-marks|intrinsics)/,
    /^src\/functions\/explain\/(?:explain|package-settings|scale-in-use)\.ts$/,
    /^src\/functions\/modules\/(?:bundled-origin|export-declarations|export-places|held-instances|module-facts|module-names|module-references|object-digest|package-index|package-variables|weak-files)\.ts$/,
  ],
  // Variables of modules that are not exported.
  "late-variables": [/^src\/functions\/revive\/module-variables\.ts$/],
  // Calls that tasks make.
  "late-proxy": [/^src\/worker\/thread\/pool-proxy\.ts$/],
  "late-caller": [/^src\/caller-exports\.ts$/],
};

/** True for the file of a part. */
export function isLateFile(file) {
  return Object.keys(PARTS).includes(file.replace(/\.c?js$/, ""));
}

/** The entry points of the parts: modules with all that their sources export. */
export const LATE_ENTRIES = Object.keys(PARTS).map((part) => ({ in: `late:${part}`, out: part }));

/**
 * Makes imports of a part imports of its file, except inside of the part. Imports from an index.ts become imports from where it
 * has them from: otherwise every file would need everything that such an index.ts names, and would load it.
 */
export function lateFiles(root) {
  const nameOf = (path) => relative(root, path).split(sep).join("/");
  const partOf = (path) => Object.keys(PARTS).find((part) => PARTS[part].some((pattern) => pattern.test(nameOf(path))));
  const sourcesOf = (part) =>
    readdirSync(join(root, "src"), { recursive: true })
      .map((name) => join(root, "src", name))
      .filter((path) => /(?<!\.test|\/index)\.ts$/.test(path) && partOf(path) === part);
  return {
    name: "late files",
    setup: ({ onLoad, onResolve }) => {
      onResolve({ filter: /^late:/ }, ({ path }) => ({ path, namespace: "late" }));
      onLoad({ filter: /^late:/, namespace: "late" }, ({ path }) => {
        const sources = sourcesOf(path.slice("late:".length));
        const contents = sources.map((source) => `export * from ${JSON.stringify(source)};`).join("\n");
        return { contents, resolveDir: root, pluginData: sources[0] };
      });
      onResolve({ filter: /\.ts$/ }, ({ path, importer, resolveDir, pluginData: user = importer }) => {
        const part = partOf(resolve(resolveDir, path));
        if (part === undefined || user === "" || part === partOf(user)) return undefined;
        return { path: `./${part}.js`, external: true, sideEffects: false };
      });
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path.includes("node_modules") ? undefined : { contents: importDirectly(path), loader: "ts" },
      );
    },
  };
}

const FROM_INDEX = /^import (type )?\{([^}]*)\} from "(\.[^"]*\/index\.ts)";/gm;

/** The text of a source without imports from an index.ts. Every line stays where it is. */
function importDirectly(path) {
  return readFileSync(path, "utf8").replace(FROM_INDEX, (statement, type = "", list, specifier) => {
    const specifiers = list.split(",").map((one) => one.trim());
    const imports = specifiers
      .filter((one) => one !== "" && !one.startsWith("type "))
      .map((one) => {
        const source = relative(dirname(path), originOf(resolve(dirname(path), specifier), one.split(" as ")[0]));
        return `import ${type}{ ${one} } from ${JSON.stringify(source.startsWith(".") ? source : `./${source}`)};`;
      });
    return imports.join(" ") + "\n".repeat(statement.split("\n").length - 1);
  });
}

/** The file that declares a name that an index.ts exports. */
function originOf(index, name) {
  for (const [, list, specifier] of readFileSync(index, "utf8").matchAll(/^export \{([^}]*)\} from "([^"]+)";/gm)) {
    if (!list.split(",").some((one) => one.trim() === name)) continue;
    const next = resolve(dirname(index), specifier);
    return next.endsWith(`${sep}index.ts`) ? originOf(next, name) : next;
  }
  return index;
}
