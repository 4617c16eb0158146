/** Matches the title of a module: its path relative to the root, or the specifier it is imported by. */
export type ModulePattern = string | RegExp;

type Way = "value" | "reference";

const overrides: { readonly matches: (title: string) => boolean; readonly way: Way }[] = [];
let version = 0;

function matcher(pattern: ModulePattern): (title: string) => boolean {
  if (typeof pattern !== "string")
    return (title) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(title);
  const bare = pattern.replace(/^\.\//, "").replace(/\/$/, "");
  const source = bare
    .split(/(\*\*\/?|\*)/)
    .map((piece) =>
      piece === "*" ? "[^/]*" : piece.startsWith("**") ? ".*" : piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"),
    )
    .join("");
  const regexp = new RegExp(`^${source}(?:/.*)?$`);
  return (title) => regexp.test(title);
}

/** Sets how the code of the matching modules travels, instead of the rules. The latest matching override applies. */
export function override(pattern: ModulePattern, way: Way): void {
  overrides.unshift({ matches: matcher(pattern), way });
  version += 1;
}

/** The override for a module with that title; undefined when the rules decide. */
export function overrideFor(title: string): Way | undefined {
  return overrides.find(({ matches }) => matches(title))?.way;
}

/** Changes with every override, so that cached decisions are made again. */
export function overridesVersion(): number {
  return version;
}
