import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** From the top down: a folder may use those below it. */
const ORDER = [
  "cli",
  "pool",
  "worker",
  "proxy",
  "connection",
  "call",
  "context",
  "routine",
  "balancing",
  "telemetry",
  "discovery",
  "host",
  "security",
  "wire",
  "grpc",
  "sharing",
  "values",
  "functions",
  "checks",
  "time",
  "gen",
];

/** The rooms of a folder, from the top down. Types may be imported upwards inside one folder. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  functions: ["explain", "revive", "capture", "emit", "modules", "engine", "syntax", "shipment"],
  values: ["refusals", "slots", "bytes"],
  security: ["certificates"],
  discovery: ["redis", "etcd", "dns", "lan", "local"],
  proxy: ["calls", "scheduling", "members"],
  worker: ["service", "thread", "host", "shared"],
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly isType: boolean;
}

function sources(): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("fixtures"))
    .map((path) => join(src, path));
}

/** The folder of a file and its room there; empty strings where it has none. */
function placeOf(path: string): { folder: string; room: string } {
  const [folder = "", room = ""] = relative(src, dirname(path)).split("/");
  return { folder, room };
}

const IMPORT =
  /(?:^|\n)(?:import|export)(?<type> type)?\s*(?<names>\{[^}]*\}|\*\s+as\s+\w+|\*)?\s*(?:from\s*)?"(?<static>\.[^"]+)"|import\(\s*"(?<dynamic>\.[^"]+)"/g;

function importsOf(file: string): Import[] {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(({ groups = {} }) => {
    const target = join(dirname(file), groups["static"] ?? groups["dynamic"] ?? "");
    const names = groups["names"]?.replace(/[{}]/g, "").split(",") ?? [];
    const isType =
      groups["type"] !== undefined ||
      (names.length > 0 && names.every((name) => name.trim() === "" || name.trim().startsWith("type ")));
    return { file, target, isType };
  });
}

const show = ({ file, target }: Import) => `${relative(src, file)} -> ${relative(src, target)}`;
const imports = sources().flatMap(importsOf);

it("points one way: no folder uses one above it", () => {
  const across = imports.filter(({ file, target }) => {
    const [from, to] = [placeOf(file).folder, placeOf(target).folder];
    return from !== "" && to !== "" && from !== to;
  });
  expect(across.length).toBeGreaterThan(100);
  const upwards = across.filter(
    ({ file, target }) => ORDER.indexOf(placeOf(file).folder) >= ORDER.indexOf(placeOf(target).folder),
  );
  expect(upwards.map(show)).toEqual([]);
});

it("points one way inside of a folder: no room uses one above it", () => {
  const across = imports.filter(({ file, target, isType }) => {
    const [from, to] = [placeOf(file), placeOf(target)];
    return !isType && from.folder === to.folder && from.room !== "" && to.room !== "" && from.room !== to.room;
  });
  expect(across.length).toBeGreaterThan(20);
  const upwards = across.filter(({ file, target }) => {
    const [from, to] = [placeOf(file), placeOf(target)];
    const rooms = ROOMS[from.folder] ?? [];
    return rooms.indexOf(from.room) >= rooms.indexOf(to.room);
  });
  expect(upwards.map(show)).toEqual([]);
});

it("enters a folder and a room through its index.ts", () => {
  const aside = imports.filter(({ file, target }) => {
    const [from, to] = [placeOf(file), placeOf(target)];
    // Generated messages have no index; the files beside index.ts belong to no folder.
    if (to.folder === "gen" || to.folder === "") return false;
    if (from.folder !== to.folder) return basename(target) !== "index.ts" || to.room !== "";
    // A room may use the files of the folder that it is in, but not the entrance to that.
    if (from.room !== to.room && to.room === "") return basename(target) === "index.ts";
    return from.room !== to.room && basename(target) !== "index.ts";
  });
  // The embedded worker is a file that starts one entry point or the other; so it must name them.
  expect(aside.map(show).filter((edge) => !edge.startsWith("worker/embedded-main.ts"))).toEqual([]);
});

it("knows every folder and every room", () => {
  const places = sources().map(placeOf);
  const folders = new Set(places.map(({ folder }) => folder).filter((folder) => folder !== ""));
  expect([...folders].sort()).toEqual([...ORDER].sort());
  const rooms = new Set(
    places.filter(({ folder, room }) => room !== "" && folder !== "gen").map(({ folder, room }) => `${folder}/${room}`),
  );
  expect([...rooms].sort()).toEqual(
    Object.entries(ROOMS)
      .flatMap(([folder, names]) => names.map((name) => `${folder}/${name}`))
      .sort(),
  );
});

it("has the files that ARCHITECTURE.md names", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  const named = Array.from(text.matchAll(/`([a-z]+\/[\w/-]+(?:\.ts|\/))`/g), ([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(30);
  const roots = [src, dirname(src)];
  expect(named.filter((path) => !roots.some((root) => existsSync(join(root, path))))).toEqual([]);
});

it("is the one that ARCHITECTURE.md describes", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  expect(ORDER.filter((folder) => !text.includes(`| \`${folder}/\``))).toEqual([]);
  const rooms = Object.entries(ROOMS).flatMap(([, names]) => names.map((name) => `\`${name}/\``));
  expect(rooms.filter((room) => !text.includes(room))).toEqual([]);
});
