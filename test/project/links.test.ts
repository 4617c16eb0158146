import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** Links of pages must work where people read them: in the package, too. */

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The files of the package that `npm publish` would send. */
function packedFiles(): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  const [pack] = JSON.parse(stdout) as { files: { path: string }[] }[];
  return pack?.files.map(({ path }) => path) ?? [];
}

/** Text without code, in which brackets are no links. */
function prose(page: string): string {
  return readFileSync(join(root, page), "utf8")
    .replaceAll(/^```[\s\S]*?^```/gm, "")
    .replaceAll(/`[^`\n]*`(?!\])/g, "");
}

/** The anchor that a heading gets. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function anchorsOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

const files = packedFiles();
const pages = files.filter((path) => path.endsWith(".md"));

it("the package has pages", () => {
  expect(pages).toContain("README.md");
  expect(pages).toContain("docs/README.md");
});

describe.each(pages)("%s", (page) => {
  it("has links that lead somewhere", () => {
    const broken = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^(?:https?|mailto):/.test(target))
      .filter((target) => {
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page : normalize(join(dirname(page), path)).replace(/\/$/, "");
        if (!files.some((packed) => packed === file || packed.startsWith(`${file}/`))) return true;
        return anchor !== undefined && !anchorsOf(file).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

it("docs/README.md lists every page of the folder", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8");
  const unlisted = pages.filter((page) => /^docs\/(?!README)/.test(page) && !index.includes(`(${page.slice(5)})`));
  expect(unlisted).toEqual([]);
});
