// Turns the modules that esbuild writes into CommonJS. esbuild does that, too, but each use of an import becomes a call of a
// getter then. Here imports become variables, which takes no longer than in a module. Every line stays where it is, so that
// source maps of the modules serve for both.
import { parse } from "acorn";

const OF_DIST = /^\.\/(.*)\.js$/;

/** Packages of which only functions are imported. They are loaded when one is called for the first time. */
const LOADED_LATE = ["acorn"];

/**
 * The text of a module as CommonJS, and the names of the files in the same folder that it imports. Where it waits at its top
 * level, `module.exports` is a promise that resolves when it has run. `rename` gives the name of the CommonJS file that is
 * made of a module, and `undefined` for modules that stay what they are. `isLate` tells of files of which only functions are
 * imported, which are loaded when one is called; `importedLate` has their names. `importedFirst` has those of the files that
 * are loaded before the module runs.
 */
export function toCommonJs(text, rename, isLate = () => false) {
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module" });
  const imported = [];
  const importedLate = [];
  const importedFirst = [];
  const exported = [];
  const edits = [];
  const replace = ({ start, end }, by) => {
    const lost = text.slice(start, end).split("\n").length - by.split("\n").length;
    edits.push({ start, end, by: by + "\n".repeat(Math.max(0, lost)) });
  };
  const required = (specifier) => {
    const [, module] = OF_DIST.exec(specifier) ?? [];
    const file = module === undefined ? undefined : rename(`${module}.js`);
    if (file === undefined) return undefined;
    imported.push(`${module}.js`);
    return `require("./${file}")`;
  };
  const isUsed = (name, { start, end }) =>
    new RegExp(`(?<![\\w$.])${name.replaceAll("$", "\\$&")}(?![\\w$])`).test(text.slice(0, start) + text.slice(end));
  const assigned = new Set();
  let waits = false;
  let lastImport = 0;
  const visit = (node, isTop) => {
    if (node.type === "MetaProperty" && node.meta.name === "import") return replace(node, "({})");
    if (node.type === "ImportExpression" && typeof node.source.value === "string") {
      const call = required(node.source.value);
      if (call !== undefined) return replace(node, `(async () => ${call})()`);
    }
    if (node.type === "AssignmentExpression") namesIn(node.left, assigned);
    if (node.type === "UpdateExpression") namesIn(node.argument, assigned);
    if (/^For(?:In|Of)/.test(node.type)) namesIn(node.left, assigned);
    const isTopHere = isTop && !/Function|^PropertyDefinition|^StaticBlock/.test(node.type);
    if (isTopHere && (node.type === "AwaitExpression" || node.await === true)) waits = true;
    for (const child of childrenOf(node)) visit(child, isTopHere);
  };
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      lastImport = node.end;
      const source = node.source.value;
      const call = required(source) ?? `require(${JSON.stringify(source)})`;
      const file = OF_DIST.test(source) ? rename(source.slice(2)) : undefined;
      const isLateHere = file === undefined ? LOADED_LATE.includes(source) : isLate(file);
      if (isLateHere) {
        // esbuild leaves what nobody uses.
        const used = node.specifiers.filter(({ local }) => isUsed(local.name, node));
        if (file !== undefined) importedLate.push([file, used.map((specifier) => specifier.imported.name)]);
        replace(node, lateImportOf(used, call, `late_${node.start}`));
      } else {
        if (file !== undefined) importedFirst.push(file);
        replace(node, importOf(node.specifiers, call));
      }
    } else if (node.type === "ExportNamedDeclaration" && node.declaration === null && node.source === null) {
      exported.push(...node.specifiers.map(({ local }) => local.name));
      const names = node.specifiers.map(({ local, exported }) => `${exported.name}: ${local.name}`);
      const mark = 'Object.defineProperty(module.exports, "__esModule", { value: true });';
      replace(node, `module.exports = { ${names.join(", ")} }; ${mark}`);
    } else if (node.type.startsWith("Export"))
      throw new Error(`an unexpected ${node.type}: ${text.slice(node.start, node.end)}`);
    else visit(node, true);
  }
  // Importers would not see it.
  const changed = exported.filter((name) => assigned.has(name));
  if (changed.length > 0) throw new Error(`a module assigns to what it exports: ${changed.join(", ")}`);
  let result = text;
  if (waits) {
    edits.push({ start: lastImport, end: lastImport, by: " module.exports = (async () => {" });
    const end = program.body.at(-1).end;
    edits.push({ start: end, end, by: " })();" });
  }
  for (const { start, end, by } of edits.toSorted((one, other) => other.start - one.start)) {
    result = result.slice(0, start) + by + result.slice(end);
  }
  return { text: `"use strict"; ${result}`, imported, importedLate, importedFirst };
}

function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === "string");
}

/** Adds the variables that an assignment to `target` changes. */
function namesIn(target, names) {
  if (target.type === "Identifier") names.add(target.name);
  else if (/Pattern$|^Property$|^RestElement$/.test(target.type))
    for (const child of childrenOf(target)) namesIn(child, names);
}

function importOf(specifiers, call) {
  if (specifiers.length === 0) return `${call};`;
  const names = specifiers.map(({ type, imported, local }) => {
    if (type === "ImportSpecifier")
      return imported.name === local.name ? local.name : `${imported.name}: ${local.name}`;
    // The whole of a CommonJS package is its default export.
    if (type === "ImportDefaultSpecifier" && specifiers.length === 1) return undefined;
    throw new Error(`an unexpected import: ${type}`);
  });
  return names[0] === undefined
    ? `var ${specifiers[0].local.name} = ${call};`
    : `var { ${names.join(", ")} } = ${call};`;
}

/**
 * The first call of a function replaces it by the one of the file. Where somebody kept the first one, `kept` saves looking the
 * file up again.
 */
function lateImportOf(specifiers, call, kept) {
  if (specifiers.length === 0) return "";
  const stubs = specifiers.map(
    ({ imported, local: { name } }) =>
      `${name} = (...args) => (${name} = (${kept} ??= ${call}).${imported.name})(...args)`,
  );
  return `var ${kept}, ${stubs.join(", ")};`;
}
